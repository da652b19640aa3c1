/** What all JMH benchmarks share. */
@NullMarked
package io.lambdadispatcher.bench;

import org.jspecify.annotations.NullMarked;
