/**
 * What must happen around a snapshot of the process (Lambda SnapStart, CRaC): sockets closed
 * before, dialled after. Without {@code org.crac} on the class path there are no snapshots and
 * nothing happens.
 */
@NullMarked
package io.lambdadispatcher.worker.snapshot;

import org.jspecify.annotations.NullMarked;
