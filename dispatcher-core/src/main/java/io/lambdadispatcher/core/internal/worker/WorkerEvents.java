package io.lambdadispatcher.core.internal.worker;

import io.lambdadispatcher.core.observe.WorkerKind;
import io.lambdadispatcher.wire.worker.ControlMessage;
import io.lambdadispatcher.wire.worker.ControlMessage.DrainCode;
import io.lambdadispatcher.wire.worker.LaunchToken;
import io.netty.handler.codec.http.HttpResponseStatus;
import java.util.List;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * Decides which workers are admitted, and receives their state and load. Called on event loops of
 * worker connections. Implementations are thread-safe.
 */
public interface WorkerEvents {
    /**
     * The reason why a connection is rejected.
     *
     * @param status tells the worker whether it may try again: not after 401 and 403
     * @param rejection {@code null} if it happens to workers that are in order, so that nobody has
     *     to look at it
     * @param reason one line for the log
     */
    record Refusal(HttpResponseStatus status, @Nullable Rejection rejection, String reason) {}

    /** What is wrong with a peer of the worker port. */
    enum Rejection {
        /** It has no launch token, or one that no secret of the dispatcher has signed. */
        TOKEN,
        EXPIRED,
        /** Its token is for a function that this dispatcher does not have. */
        FUNCTION,
        /** Another worker may run in its place. */
        ENDED,
        /** It has more connections or streams than it may have, for some time. */
        LIMIT,
        /** It breaks the protocol of workers. */
        PROTOCOL,
        /** It does not use TLS as the port does, or does not accept the key of the port. */
        TLS,
        /** It is no worker. It can be a browser or a health check. */
        STRANGER;

        private final String token = name().toLowerCase(Locale.ROOT);

        /** Returns the name in lower case, as the log shows it. */
        public String token() {
            return token;
        }
    }

    /**
     * Decides whether a worker may open one more connection. The signature of its token is valid.
     *
     * @param expired whether the token has expired, which counts only if no worker was admitted
     *     with it before
     * @return {@code null} to admit the connection
     */
    @Nullable
    Refusal admit(LaunchToken token, WorkerLink connection, boolean expired);

    /**
     * Returns the addresses of all dispatchers that share the workers, this one's first; empty if
     * there is no fleet.
     */
    List<String> peers();

    /**
     * An admitted connection has said who it is. Returns the kind of its worker, which never
     * changes.
     */
    WorkerKind onHello(WorkerLink connection, ControlMessage.Hello hello);

    /** An admitted connection is ready for requests, or is not for now. */
    void onReadiness(WorkerLink connection, boolean ready);

    void onLoad(WorkerLink connection, ControlMessage.Load load);

    /** The worker has announced that it drains. */
    void onDrain(WorkerLink connection, DrainCode reason);

    /** How a connection ends. */
    enum Departure {
        /** One side has said GOODBYE, and the worker exits. */
        ENDED,
        /**
         * One side has said GOODBYE, but the worker may run on: it serves other dispatchers, or it
         * was cut off because it has not started or exited in time.
         */
        LEFT,
        /** There was no GOODBYE: the worker was killed or is silent, or a connection was reset. */
        LOST
    }

    /** An admitted connection is closed. */
    void onGone(WorkerLink connection, Departure departure, String reason);
}
