package io.lambdadispatcher.core.internal.launch;

import io.lambdadispatcher.core.internal.worker.WorkerLink;
import io.lambdadispatcher.core.observe.WorkerKind;
import io.lambdadispatcher.core.observe.WorkerSnapshot;
import io.lambdadispatcher.core.observe.WorkerSnapshot.State;
import io.lambdadispatcher.wire.worker.ControlMessage.DrainCode;
import java.net.SocketAddress;
import java.time.Instant;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** A connected worker. Guarded by the lock of the {@link WorkerRegistry}. */
final class RegisteredWorker {
    final String function;

    /** Set by the first HELLO. */
    @Nullable
    WorkerKind kind;

    /** The worker's connections; {@code true} = the connection is ready. */
    final Map<WorkerLink, Boolean> connections = new HashMap<>();

    /** Whether at least one connection is ready. */
    boolean ready;

    /** Why it drains; {@code null} = it does not. */
    @Nullable
    DrainCode draining;

    final Instant since = Instant.now();
    String version = "";
    String logStream = "";
    String zone = "";

    @Nullable
    Instant deadline;

    WorkerSnapshot.@Nullable Load load;

    RegisteredWorker(String function) {
        this.function = function;
    }

    boolean isBase() {
        return kind == WorkerKind.BASE;
    }

    State state() {
        State connected = draining != null ? State.DRAINING : ready ? State.READY : State.UNREADY;
        return connections.isEmpty() ? State.STARTING : connected;
    }

    /** Returns the address of one of its connections; {@code null} if it has none. */
    @Nullable
    SocketAddress address() {
        return connections.keySet().stream()
                .findAny()
                .map(WorkerLink::remoteAddress)
                .orElse(null);
    }

    /** Returns whether it is ready and does not drain. */
    boolean serves() {
        return ready && draining == null;
    }

    /** Returns how many streams the connections that are ready may open. */
    int readyStreams() {
        int sum = 0;
        for (Map.Entry<WorkerLink, Boolean> each : connections.entrySet()) {
            sum += each.getValue() ? each.getKey().streams() : 0;
        }
        return sum;
    }

    /**
     * Updates {@link #ready} after a connection has changed. Returns whether it has changed and
     * the worker is not draining.
     */
    boolean changesReadiness() {
        boolean before = ready;
        ready = connections.containsValue(true);
        return ready != before && draining == null;
    }
}
