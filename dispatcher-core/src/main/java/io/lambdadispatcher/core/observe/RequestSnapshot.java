package io.lambdadispatcher.core.observe;

import java.net.SocketAddress;
import org.jspecify.annotations.Nullable;

/**
 * One request that has not ended, at a moment. Immutable, so it can be kept and used by any thread.
 *
 * @param function the name of the function
 * @param state how far the request has come
 * @param workerId the id of the worker that has the request; {@code null} if none has it, or if it
 *     is a direct invocation
 * @param method the method as the client sent it, at most 512 characters of it
 * @param path the path as the client sent it, without its query, at most 512 characters of it
 * @param remoteAddress the client's address: the peer, or what a trusted proxy names; {@code null}
 *     for requests of the embedding program
 * @param tenant the value of the header that names the tenant, at most 512 characters of it; {@code
 *     null} if no header does, or if the request does not have it
 * @param protocol the protocol of the client's connection
 * @param ageNanos time since the request arrived, in nanoseconds
 * @param attempts how often the request was given to a worker or a direct invocation, 0 to 5
 * @param requestBytes size of the request's body that has arrived, in bytes
 * @param responseBytes size of the response's body that has arrived from the worker, in bytes
 * @param unreadBytes part of {@code responseBytes} that the client has not read, in bytes
 */
public record RequestSnapshot(
        String function,
        State state,
        @Nullable String workerId,
        String method,
        String path,
        @Nullable SocketAddress remoteAddress,
        @Nullable String tenant,
        ClientProtocol protocol,
        long ageNanos,
        int attempts,
        long requestBytes,
        long responseBytes,
        long unreadBytes) {

    /** How far a request has come. */
    public enum State {
        /** It waits until a worker stream is free. */
        QUEUED,
        /** It waits because its client has too many requests with incomplete bodies. */
        OVER_SHARE,
        /** A worker or a direct invocation has it. The response has not begun. */
        SENT,
        /** The response has begun. */
        RESPONDING,
        /** It is an open tunnel, such as a WebSocket. */
        TUNNEL
    }
}
