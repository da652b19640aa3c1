/**
 * Tests of the plan that {@code docs/explanation/architecture.md} describes, over the bytecode of
 * all modules.
 */
@NullMarked
package io.lambdadispatcher.it.architecture;

import org.jspecify.annotations.NullMarked;
