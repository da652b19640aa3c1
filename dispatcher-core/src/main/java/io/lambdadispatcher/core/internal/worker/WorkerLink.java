package io.lambdadispatcher.core.internal.worker;

import io.lambdadispatcher.core.internal.pool.FunctionPool;
import io.lambdadispatcher.wire.worker.ControlMessage.DrainCode;
import java.net.SocketAddress;
import java.time.Duration;
import java.time.Instant;
import org.jspecify.annotations.Nullable;

/**
 * What connects a worker with its pool: a {@link WorkerConnection}, or nothing but calls if the
 * worker is in this process. Any thread.
 */
public interface WorkerLink {
    String workerId();

    FunctionPool pool();

    /**
     * Returns when the worker must have exited; {@code null} if there is no deadline. Known after
     * HELLO.
     */
    @Nullable
    Instant deadline();

    /**
     * Returns how many exchanges may run at once: as many as worker streams may open, or fewer if
     * the worker wants that. Known after HELLO.
     */
    int streams();

    SocketAddress remoteAddress();

    /**
     * Starts no new exchange. The worker ends when the exchanges in flight have ended, or when
     * {@code grace} is over.
     */
    void drain(DrainCode reason, Duration grace);

    /**
     * Says goodbye and closes the link. Exchanges in flight fail.
     */
    void goodbye(String text);

    /**
     * Closes the link as {@link #goodbye} does, but the worker does not count as ended, because it
     * may run on.
     */
    void dismiss(String text);

    /** Tells the worker how many downstream connections it may have. */
    void tellShare(int connections);

    /** {@link WorkerEvents#peers} has changed. */
    void onPeersChanged();
}
