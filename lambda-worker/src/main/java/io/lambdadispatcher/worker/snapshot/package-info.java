/**
 * Notifies your code of a snapshot of the process (Lambda SnapStart, CRaC), so that it can close
 * its sockets before the snapshot and open them again after it. Without {@code org.crac} on the
 * class path, there are no snapshots.
 */
@NullMarked
package io.lambdadispatcher.worker.snapshot;

import org.jspecify.annotations.NullMarked;
