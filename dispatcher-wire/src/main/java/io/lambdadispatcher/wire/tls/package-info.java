/**
 * Certificates and private keys from files, as the ports of the dispatcher and workers use them.
 * Any thread.
 */
@NullMarked
package io.lambdadispatcher.wire.tls;

import org.jspecify.annotations.NullMarked;
