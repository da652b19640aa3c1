package io.lambdadispatcher.worker.websocket;

import io.lambdadispatcher.worker.handler.Request;
import io.netty.buffer.ByteBuf;

/**
 * One client's WebSocket. Any thread may send and close; what one thread sends arrives in that order. After the end nothing happens any more.
 */
public interface WebSocketSession {
    /** The work is done (RFC 6455 section 7.4.1, as all of these). */
    int NORMAL = 1000;

    int GOING_AWAY = 1001;
    int PROTOCOL_ERROR = 1002;
    int UNSUPPORTED = 1003;
    /** Never sent: the peer's close frame had no code. */
    int NO_CODE = 1005;
    /** Never sent: there was no close frame. */
    int ABNORMAL = 1006;

    int INVALID_TEXT = 1007;
    int TOO_BIG = 1009;
    int HANDLER_FAILED = 1011;
    /** From IANA's registry: the client is asked to connect again. */
    int SERVICE_RESTART = 1012;

    int TRY_LATER = 1013;

    /** That opened it: path, header fields. */
    Request request();

    /** One of the client's that {@link WebSocketOptions#subprotocols} has too; empty for none. */
    String subprotocol();

    /** @return {@link #isWritable} */
    boolean sendText(String text);

    /**
     * By reference.
     *
     * @param bytes the session's from now on
     * @return {@link #isWritable}
     */
    boolean sendBinary(ByteBuf bytes);

    /**
     * Less than a bounded amount waits for the client. What is sent all the same is kept in memory: whoever sends to many drops messages, or the
     * client, that is too slow. False after the end.
     */
    boolean isWritable();

    /** Asks for no more messages until {@link #resume}; those that have arrived already still come. */
    void pause();

    void resume();

    /**
     * Sends a close frame, behind which nothing is sent any more; the session ends with the client's answer, or after
     * {@link WebSocketOptions#closeWithin}.
     *
     * @param reason at most 123 bytes of UTF-8; what is longer is left out
     * @throws IllegalArgumentException if the code is none that may be sent
     */
    void close(int code, String reason);
}
