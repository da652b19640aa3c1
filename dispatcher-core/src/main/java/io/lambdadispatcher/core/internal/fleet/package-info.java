/**
 * Several dispatchers as one: what they share about each function ({@link
 * io.lambdadispatcher.core.internal.fleet.Budget}), who they are, and what one of them may do. They
 * agree through a {@link io.lambdadispatcher.core.spi.Ledger}, never on the path of a request.
 */
@NullMarked
package io.lambdadispatcher.core.internal.fleet;

import org.jspecify.annotations.NullMarked;
