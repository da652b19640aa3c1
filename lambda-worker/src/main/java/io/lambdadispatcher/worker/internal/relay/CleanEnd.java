package io.lambdadispatcher.worker.internal.relay;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaderValues;
import io.netty.handler.codec.http.HttpMethod;
import io.netty.handler.codec.http.websocketx.WebSocketCloseStatus;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.util.AsciiString;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * The end that a worker gives to a long response when it goes and the handler has not ended it: a
 * WebSocket gets a close frame that asks the client to connect again, an event stream that a GET
 * asked for ends, after which clients connect again, too, and a gRPC call gets a status that asks
 * for another attempt. Nothing else can end before its handler ends it without harm. A gRPC call
 * may just be slow, so it gets all the time that there is.
 *
 * <p>WebSockets and gRPC calls end between two of their frames, event streams after an event, so
 * this counts their bytes. Confined to the event loop of the response.
 */
final class CleanEnd {
    /** The time that a draining worker leaves the handler to end its responses by itself. */
    private static final long MOST_MILLIS = TimeUnit.SECONDS.toMillis(60);
    /** The time that the client has to answer before everything is cut off. */
    private static final long MARGIN_MILLIS = TimeUnit.SECONDS.toMillis(1);

    private static final AsciiString GRPC = AsciiString.cached("application/grpc");
    private static final AsciiString PROTOCOL = AsciiString.cached(":protocol");
    private static final Http2Headers GRPC_UNAVAILABLE =
            new DefaultHttp2Headers().set("grpc-status", "14").set("grpc-message", "the worker ends, try again");

    private static final int CLOSE_OPCODE = 8;
    private static final byte[] CLOSE_FRAME = {
        (byte) (0x80 | CLOSE_OPCODE),
        2,
        (byte) (WebSocketCloseStatus.SERVICE_RESTART.code() >> 8),
        (byte) WebSocketCloseStatus.SERVICE_RESTART.code()
    };

    private enum Kind {
        WEBSOCKET(2),
        EVENT_STREAM(0),
        GRPC(5);

        /** The bytes of the shortest header of a frame; 0 = it has none. */
        final int headerBytes;

        Kind(int headerBytes) {
            this.headerBytes = headerBytes;
        }
    }

    private static final int LF_LF = '\n' << 8 | '\n';
    private static final int CR_CR = '\r' << 8 | '\r';
    private static final int CRLF_CRLF = ('\r' << 8 | '\n') << 16 | '\r' << 8 | '\n';

    private final Kind kind;

    /** The last four bytes of an event stream. An empty one can end. */
    private int tail = LF_LF;

    /** The part of the header of the current frame that has passed. */
    private final byte[] header = new byte[14];

    private int headerBytes;

    /** The bytes at the beginning of a frame, of which several small ones can be here. */
    private final byte[] block = new byte[64];

    /** The bytes of the current frame that follow its header. */
    private long left;

    private boolean handlerHasClosed;
    private boolean due;

    private CleanEnd(Kind kind) {
        this.kind = kind;
    }

    /**
     * Returns how a response can end early; {@code null} if it cannot.
     *
     * @param tunnel whether it opens a tunnel
     */
    static @Nullable CleanEnd of(Http2Headers request, Http2Headers response, boolean tunnel) {
        Kind kind = tunnel ? ofTunnel(request) : ofResponse(request, response);
        return kind == null ? null : new CleanEnd(kind);
    }

    private static @Nullable Kind ofTunnel(Http2Headers request) {
        CharSequence protocol = request.get(PROTOCOL);
        boolean websocket =
                protocol != null && AsciiString.contentEqualsIgnoreCase(protocol, HttpHeaderValues.WEBSOCKET);
        return websocket ? Kind.WEBSOCKET : null;
    }

    private static @Nullable Kind ofResponse(Http2Headers request, Http2Headers response) {
        CharSequence type = response.get(HttpHeaderNames.CONTENT_TYPE);
        if (type == null || response.contains(HttpHeaderNames.CONTENT_LENGTH)) {
            return null;
        }
        if (isOrBegins(type, HttpHeaderValues.TEXT_EVENT_STREAM)) {
            // Only EventSource connects again, and it uses GET. An end within encoded bytes would
            // be an error.
            boolean get = HttpMethod.GET.asciiName().contentEquals(request.method());
            return get && !response.contains(HttpHeaderNames.CONTENT_ENCODING) ? Kind.EVENT_STREAM : null;
        }
        return isOrBegins(type, GRPC) ? Kind.GRPC : null;
    }

    /** Other types can begin with the same characters, as {@code application/grpc-web} does. */
    private static boolean isOrBegins(CharSequence type, AsciiString expected) {
        int length = expected.length();
        if (!AsciiString.regionMatches(type, true, 0, expected, 0, length)) {
            return false;
        }
        return type.length() == length || "; +".indexOf(type.charAt(length)) >= 0;
    }

    /** Returns the time from the beginning of a drain until all such responses get this end. */
    static Duration latest(Duration grace) {
        long millis = grace.toMillis();
        return Duration.ofMillis(millis - Math.min(MARGIN_MILLIS, millis / 4));
    }

    /** Returns the time from the beginning of a drain until all but gRPC calls get this end. */
    static Duration after(Duration grace) {
        return Duration.ofMillis(Math.min(MOST_MILLIS, latest(grace).toMillis()));
    }

    /**
     * From now on, the response should end between two frames.
     *
     * @param latest whether the grace period is over soon
     */
    void setDue(boolean latest) {
        due |= latest || kind != Kind.GRPC;
    }

    /** Returns whether the response should end now. */
    boolean isNow() {
        return due && (kind == Kind.EVENT_STREAM ? isAfterEvent() : headerBytes == 0 && left == 0);
    }

    private boolean isAfterEvent() {
        int two = tail & 0xFFFF;
        return two == LF_LF || two == CR_CR || tail == CRLF_CRLF;
    }

    /**
     * Counts bytes that are sent.
     *
     * @return how many of them may be sent before the response ends, which is then due
     */
    int pass(ByteBuf content) {
        return kind == Kind.EVENT_STREAM ? passEvents(content) : passFrames(content);
    }

    private int passEvents(ByteBuf content) {
        int end = content.writerIndex();
        int at = due ? content.readerIndex() : Math.max(content.readerIndex(), end - Integer.BYTES);
        while (at < end && !isNow()) {
            tail = tail << 8 | content.getByte(at++) & 0xFF;
        }
        return at - content.readerIndex();
    }

    private int passFrames(ByteBuf content) {
        int start = content.readerIndex();
        int end = content.writerIndex();
        int at = start;
        while (at < end && !isNow()) {
            if (left > 0) {
                int skipped = (int) Math.min(left, end - at);
                left -= skipped;
                at += skipped;
            } else {
                // Not byte by byte, because a buffer that is watched for leaks records each access.
                int copied = Math.min(block.length, end - at);
                content.getBytes(at, block, 0, copied);
                at += passBlock(copied);
            }
        }
        return at - start;
    }

    private int passBlock(int bytes) {
        int at = 0;
        while (at < bytes && !isNow()) {
            if (left > 0) {
                int skipped = (int) Math.min(left, bytes - at);
                left -= skipped;
                at += skipped;
            } else {
                header[headerBytes++] = block[at++];
                readHeader();
            }
        }
        return at;
    }

    private void readHeader() {
        if (headerBytes < kind.headerBytes) {
            return;
        }
        if (kind == Kind.GRPC) {
            beginPayload(number(1, 4));
            return;
        }
        int length = header[1] & 0x7F;
        int more = length == 126 ? 2 : length == 127 ? 8 : 0;
        if (headerBytes == 2 + more) {
            handlerHasClosed |= (header[0] & 0xF) == CLOSE_OPCODE;
            int mask = header[1] < 0 ? 4 : 0;
            beginPayload(mask + (more == 0 ? length : number(2, more)));
        }
    }

    private void beginPayload(long bytes) {
        headerBytes = 0;
        left = Math.max(0, bytes);
    }

    private long number(int from, int bytes) {
        long value = 0;
        for (int i = from; i < from + bytes; i++) {
            value = value << 8 | header[i] & 0xFF;
        }
        return value;
    }

    /** Ends the response. */
    void writeTo(ServedStream out) {
        switch (kind) {
            case WEBSOCKET -> out.data(Unpooled.wrappedBuffer(handlerHasClosed ? new byte[0] : CLOSE_FRAME), true);
            case EVENT_STREAM -> out.data(Unpooled.EMPTY_BUFFER, true);
            case GRPC -> out.trailers(GRPC_UNAVAILABLE);
        }
    }
}
