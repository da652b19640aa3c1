/**
 * What a macro run needs beside the dispatcher: the HTTP backend that stands behind the proxies we compare with. All of it runs on one event loop.
 */
@NullMarked
package io.lambdadispatcher.bench.endtoend;

import org.jspecify.annotations.NullMarked;
