/**
 * Snapshots of the process (Lambda SnapStart, CRaC). A listener closes its sockets before the
 * snapshot and opens them after the restore.
 *
 * <pre>{@code
 * class Orders implements Handler, SnapshotListener {
 *     public void handle(Request request, Response response) {
 *         response.respond(200, "ok");
 *     }
 *
 *     public void beforeCheckpoint() {
 *         // close the connections to the database
 *     }
 *
 *     public void afterRestore() {
 *         // open them again
 *     }
 * }
 * }</pre>
 *
 * <p>Without {@code org.crac} on the class path there are no snapshots, and no listener is called.
 */
@NullMarked
package io.lambdadispatcher.worker.snapshot;

import org.jspecify.annotations.NullMarked;
