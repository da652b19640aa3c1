/**
 * What a macro run needs beside the dispatcher: the HTTP backend behind the proxies that we compare
 * with, on one event loop, and workers that serve the same resources.
 */
@NullMarked
package io.lambdadispatcher.bench.endtoend;

import org.jspecify.annotations.NullMarked;
