/** The demo's routes: what benchmarks of such systems ask for. Also an example of how to write a handler. */
@NullMarked
package io.lambdadispatcher.server.demo;

import org.jspecify.annotations.NullMarked;
