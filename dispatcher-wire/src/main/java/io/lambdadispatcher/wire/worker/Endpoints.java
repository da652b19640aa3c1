package io.lambdadispatcher.wire.worker;

import io.netty.util.AsciiString;

/**
 * The requests of a worker on the worker port. Both are POST requests whose request and response
 * bodies stay open.
 */
public final class Endpoints {
    /** The first request of each worker connection. It carries {@link ControlMessage}s. */
    public static final AsciiString CONTROL_PATH = AsciiString.cached("/lambda-dispatcher/v1/control");

    /** As many requests as HELLO announced, after WELCOME. They carry exchanges. */
    public static final AsciiString STREAM_PATH = AsciiString.cached("/lambda-dispatcher/v1/stream");

    /** Media type of the request and response bodies of both. */
    public static final AsciiString MEDIA_TYPE = AsciiString.cached("application/vnd.lambda-dispatcher.v1");

    /**
     * {@code authorization: Bearer <launch token>} opens the control stream. The worker streams of
     * the connection need none.
     */
    public static final String BEARER = "Bearer ";

    private Endpoints() {}
}
