/**
 * Tests of the architecture that {@code docs/explanation/architecture.md} describes, in the
 * bytecode of all modules.
 */
@NullMarked
package io.lambdadispatcher.it.architecture;

import org.jspecify.annotations.NullMarked;
