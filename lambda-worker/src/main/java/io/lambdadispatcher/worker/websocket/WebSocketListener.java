package io.lambdadispatcher.worker.websocket;

import io.netty.buffer.ByteBuf;
import java.time.Duration;

/** Hears one session or several. Called on a session's event loop, never for one session twice at once; what it throws closes the session with 1011. */
public interface WebSocketListener {
    /** A whole message: fragments have been put together, and it is valid UTF-8. */
    default void onText(WebSocketSession session, String text) throws Exception {
        session.close(WebSocketSession.UNSUPPORTED, "text messages are not supported");
    }

    /** @param bytes a whole message; the listener's from now on, to release or to pass on */
    default void onBinary(WebSocketSession session, ByteBuf bytes) throws Exception {
        bytes.release();
        session.close(WebSocketSession.UNSUPPORTED, "binary messages are not supported");
    }

    /** The session takes more after {@link WebSocketSession#isWritable} was false. */
    default void onWritable(WebSocketSession session) throws Exception {}

    /**
     * The worker must go. Whoever does not close the session by then loses it at the end of {@code grace}.
     *
     * @param grace what is left
     */
    default void onDrain(WebSocketSession session, Duration grace) throws Exception {
        session.close(WebSocketSession.SERVICE_RESTART, "the worker is shutting down, please reconnect");
    }

    /**
     * The session has ended; called once, last.
     *
     * @param code the peer's, {@link WebSocketSession#NO_CODE} where it gave none, {@link WebSocketSession#ABNORMAL} where it went without a word;
     *     this side's where the peer broke the protocol, {@link WebSocketSession#GOING_AWAY} where it answered no ping
     */
    default void onClose(WebSocketSession session, int code, String reason) throws Exception {}
}
