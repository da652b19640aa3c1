package io.lambdadispatcher.core.internal.worker;

import io.lambdadispatcher.wire.worker.ControlMessage;
import io.lambdadispatcher.wire.worker.ControlMessage.DrainCode;
import io.lambdadispatcher.wire.worker.LaunchToken;
import io.netty.handler.codec.http.HttpResponseStatus;
import org.jspecify.annotations.Nullable;

/**
 * Who may dial in, and who wants to know how workers fare. Called on event loops of worker
 * connections, thread-safe.
 */
public interface WorkerEvents {
    /**
     * Why a connection is not let in.
     *
     * @param status tells the worker whether it may try again: not after 401 and 403
     * @param reason in one line, for the log
     */
    record Refusal(HttpResponseStatus status, String reason) {}

    /**
     * Decides whether a worker may open one more connection. Its token has a good signature.
     *
     * @param expired the token has expired, which counts only if no worker was let in with it yet
     * @return {@code null} to let the connection in
     */
    @Nullable
    Refusal admit(LaunchToken token, WorkerConnection connection, boolean expired);

    /** An admitted connection said that requests may come, or not for now. */
    void onReadiness(WorkerConnection connection, boolean ready);

    /** How the worker fares. */
    void onLoad(WorkerConnection connection, ControlMessage.Load load);

    /** The worker wants to end. */
    void onDrain(WorkerConnection connection, DrainCode reason);

    /** An admitted connection has gone. @param clean after GOODBYE */
    void onGone(WorkerConnection connection, boolean clean, String reason);
}
