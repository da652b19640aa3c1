/**
 * The handler of {@code ./dispatcher demo}, with routes that benchmarks of comparable systems use.
 * It runs in the workers.
 */
@NullMarked
package io.lambdadispatcher.server.demo;

import org.jspecify.annotations.NullMarked;
