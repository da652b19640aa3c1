/** A chat in rooms, over WebSocket. */
@NullMarked
package com.example.chat;

import org.jspecify.annotations.NullMarked;
