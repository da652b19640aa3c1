package io.lambdadispatcher.wire.http;

import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.util.AsciiString;
import org.jspecify.annotations.Nullable;

/**
 * What the dispatcher knows about gRPC over HTTP/2: both sides of a call can pause for a long time,
 * and a missed deadline has a status of its own.
 */
public final class Grpc {
    private static final AsciiString CONTENT_TYPE = AsciiString.cached("application/grpc");

    private static final AsciiString STATUS = AsciiString.cached("grpc-status");
    private static final AsciiString MESSAGE = AsciiString.cached("grpc-message");
    private static final AsciiString DEADLINE_EXCEEDED = AsciiString.cached("4");

    private Grpc() {}

    /**
     * Returns the headers of a complete response that says that the deadline has passed.
     *
     * @param message printable ASCII without the percent sign
     */
    public static FlatHeaders deadlineExceeded(String message) {
        FlatHeaders head = new FlatHeaders();
        head.status(HttpResponseStatus.OK.codeAsText());
        head.addValid(HttpHeaderNames.CONTENT_TYPE, CONTENT_TYPE);
        head.addValid(STATUS, DEADLINE_EXCEEDED);
        head.addValid(MESSAGE, AsciiString.of(message));
        return head;
    }

    /** Returns whether a request with these headers is a gRPC call. */
    public static boolean isCall(Http2Headers request) {
        @Nullable CharSequence type = request.get(HttpHeaderNames.CONTENT_TYPE);
        return type != null && AsciiString.regionMatches(type, true, 0, CONTENT_TYPE, 0, CONTENT_TYPE.length());
    }
}
