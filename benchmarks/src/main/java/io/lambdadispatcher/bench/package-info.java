/** The command line of the JMH benchmarks, and the file with their results. */
@NullMarked
package io.lambdadispatcher.bench;

import org.jspecify.annotations.NullMarked;
