package io.lambdadispatcher.worker.snapshot;

import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.crac.Context;
import org.crac.Core;
import org.crac.Resource;

/** The snapshots of a CRaC context, which are SnapStart's too. Any thread. */
public final class CracSnapshots implements Snapshots {
    private static final class Holder {
        static final CracSnapshots PROCESS = new CracSnapshots(Core.getGlobalContext());
    }

    private final Context<Resource> context;
    /** A context knows its resources weakly. */
    private final Queue<Resource> kept = new ConcurrentLinkedQueue<>();

    public CracSnapshots(Context<Resource> context) {
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

    private record Listening(SnapshotListener listener) implements Resource {
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
