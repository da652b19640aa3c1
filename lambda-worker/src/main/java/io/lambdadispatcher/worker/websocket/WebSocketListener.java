package io.lambdadispatcher.worker.websocket;

import io.netty.buffer.ByteBuf;
import java.time.Duration;

/**
 * Receives the messages of one session, or of several.
 *
 * <p><b>Threading.</b> Called on the session's event loop, which it must not block. Calls for one
 * session never overlap.
 *
 * <p><b>Errors.</b> What a method throws is logged, and closes the session with {@link
 * WebSocketSession#HANDLER_FAILED}.
 */
public interface WebSocketListener {
    /** Receives a complete text message. Fragments are joined, and the text is valid UTF-8. */
    default void onText(WebSocketSession session, String text) throws Exception {
        session.close(WebSocketSession.UNSUPPORTED, "text messages are not supported");
    }

    /**
     * Receives a complete binary message. Fragments are joined.
     *
     * @param bytes the listener must release it or pass it on
     */
    default void onBinary(WebSocketSession session, ByteBuf bytes) throws Exception {
        bytes.release();
        session.close(WebSocketSession.UNSUPPORTED, "binary messages are not supported");
    }

    /** The session is writable again, after {@link WebSocketSession#isWritable} was false. */
    default void onWritable(WebSocketSession session) throws Exception {}

    /**
     * The worker drains. A session that is still open after {@code grace} is cut off. Default:
     * closes the session with {@link WebSocketSession#SERVICE_RESTART}.
     */
    default void onDrain(WebSocketSession session, Duration grace) throws Exception {
        session.close(WebSocketSession.SERVICE_RESTART, "the worker is shutting down, please reconnect");
    }

    /**
     * The session has ended. Called once, as the last method.
     *
     * @param code the client's code; {@link WebSocketSession#NO_CODE} if its close frame had none;
     *     {@link WebSocketSession#ABNORMAL} if it disconnected without a close frame; the worker's
     *     code if the client broke the protocol; {@link WebSocketSession#GOING_AWAY} if it did not
     *     answer a ping
     */
    default void onClose(WebSocketSession session, int code, String reason) throws Exception {}
}
