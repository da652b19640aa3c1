package io.lambdadispatcher.worker.websocket;

import io.lambdadispatcher.worker.handler.Request;
import io.netty.buffer.ByteBuf;

/**
 * The WebSocket of one client.
 *
 * <p><b>Threading.</b> Any thread may send and close. Messages of one thread arrive in their order.
 * After the session has ended, sending and closing have no effect.
 */
public interface WebSocketSession {
    /** Normal end. RFC 6455 section 7.4.1 defines the codes, unless noted otherwise. */
    int NORMAL = 1000;

    int GOING_AWAY = 1001;
    int PROTOCOL_ERROR = 1002;
    int UNSUPPORTED = 1003;
    /** The client's close frame had no code. Never sent. */
    int NO_CODE = 1005;
    /** The connection ended without a close frame. Never sent. */
    int ABNORMAL = 1006;

    int INVALID_TEXT = 1007;
    int TOO_BIG = 1009;
    int HANDLER_FAILED = 1011;
    /** The service restarts, and the client may connect again (IANA's registry of close codes). */
    int SERVICE_RESTART = 1012;

    int TRY_LATER = 1013;

    /** Returns the request that opened the session, with its path and headers. */
    Request request();

    /**
     * Returns the first of {@link WebSocketOptions#subprotocols} that the client also offers; empty
     * if there is none.
     */
    String subprotocol();

    /**
     * Sends a text message.
     *
     * @return {@link #isWritable}
     */
    boolean sendText(String text);

    /**
     * Sends a binary message, without copying it.
     *
     * @param bytes the session releases it
     * @return {@link #isWritable}
     */
    boolean sendBinary(ByteBuf bytes);

    /**
     * Returns whether the client keeps up: only a bounded number of bytes waits to be sent.
     * Messages that are sent nevertheless are kept in memory. A handler that sends to many clients
     * drops messages of slow clients, or closes their sessions. False after the session has ended.
     */
    boolean isWritable();

    /**
     * Stops reading from the client until {@link #resume}. Messages that have already arrived are
     * still delivered.
     */
    void pause();

    /** Continues to read from the client after {@link #pause}. */
    void resume();

    /**
     * Sends a close frame, and nothing after it. The session ends when the client answers, or after
     * {@link WebSocketOptions#closeWithin}.
     *
     * @param reason empty if it is longer than 123 bytes of UTF-8
     * @throws IllegalArgumentException if the code may not be sent
     */
    void close(int code, String reason);
}
