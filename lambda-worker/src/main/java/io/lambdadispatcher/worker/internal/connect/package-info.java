/**
 * Worker connections: dialling, the control stream, worker streams and their replacement, liveness,
 * load reports, draining. Each connection is confined to its event loop; {@code ConnectionKeeper}
 * keeps one alive, the worker above holds the keepers.
 */
@NullMarked
package io.lambdadispatcher.worker.internal.connect;

import org.jspecify.annotations.NullMarked;
