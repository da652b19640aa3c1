/**
 * What the dispatcher does now, and did in the last minutes, as JSON documents for the live page
 * and for programs.
 */
@NullMarked
package io.lambdadispatcher.server.live;

import org.jspecify.annotations.NullMarked;
