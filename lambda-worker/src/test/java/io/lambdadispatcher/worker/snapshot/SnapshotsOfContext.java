package io.lambdadispatcher.worker.snapshot;

import org.crac.Context;
import org.crac.Resource;

/** The snapshots of a context that a test takes. */
public final class SnapshotsOfContext {
    private SnapshotsOfContext() {}

    public static Snapshots of(Context<Resource> context) {
        return new CracSnapshots(context);
    }
}
