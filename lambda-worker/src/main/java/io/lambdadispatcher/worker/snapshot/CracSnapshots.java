package io.lambdadispatcher.worker.snapshot;

import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.crac.Context;
import org.crac.Core;
import org.crac.Resource;

/** Registers listeners for the snapshots of a CRaC context. SnapStart uses one too. Any thread. */
final class CracSnapshots implements Snapshots {
    private static final class Holder {
        static final CracSnapshots PROCESS = new CracSnapshots(Core.getGlobalContext());
    }

    private final Context<Resource> context;
    /** Keeps the resources reachable, because a context only has weak references to them. */
    private final Queue<Resource> kept = new ConcurrentLinkedQueue<>();

    CracSnapshots(Context<Resource> context) {
        this.context = context;
    }

    static CracSnapshots ofProcess() {
        return Holder.PROCESS;
    }

    @Override
    public void register(SnapshotListener listener) {
        Resource resource = new Listening(listener);
        kept.add(resource);
        context.register(resource);
    }

    /**
     * A registered listener. It is not a record: contexts compare resources with {@code equals},
     * and a listener that is registered twice must be called twice.
     */
    private static final class Listening implements Resource {
        private final SnapshotListener listener;

        Listening(SnapshotListener listener) {
            this.listener = listener;
        }

        @Override
        public void beforeCheckpoint(Context<? extends Resource> context) throws Exception {
            listener.beforeCheckpoint();
        }

        @Override
        public void afterRestore(Context<? extends Resource> context) throws Exception {
            listener.afterRestore();
        }
    }
}
