package io.lambdadispatcher.wire.worker;

import io.netty.util.AsciiString;

/** What a worker asks for on the worker port. Both are POST requests whose two bodies stay open. */
public final class Endpoints {
    /** One a worker connection, first. Carries {@link ControlMessage}s. */
    public static final AsciiString CONTROL_PATH = AsciiString.cached("/lambda-dispatcher/v1/control");

    /** As many as HELLO announced, after WELCOME. Carries exchanges. */
    public static final AsciiString STREAM_PATH = AsciiString.cached("/lambda-dispatcher/v1/stream");

    /** The media type of both bodies of both. */
    public static final AsciiString MEDIA_TYPE = AsciiString.cached("application/vnd.lambda-dispatcher.v1");

    /**
     * {@code authorization: Bearer <launch token>} opens the control stream; the worker streams of
     * that connection need none.
     */
    public static final String BEARER = "Bearer ";

    private Endpoints() {}
}
