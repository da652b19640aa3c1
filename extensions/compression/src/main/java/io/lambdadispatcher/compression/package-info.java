/** Compression: a filter that compresses responses for clients that accept it. */
@NullMarked
package io.lambdadispatcher.compression;

import org.jspecify.annotations.NullMarked;
