package io.lambdadispatcher.core.internal.exchange;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.EventLoop;
import io.netty.channel.embedded.EmbeddedChannel;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.util.AsciiString;
import java.util.Random;
import org.jspecify.annotations.Nullable;

/**
 * The client's side of an exchange, for both benchmarks. It sends a body of random bytes in parts,
 * as a socket delivers them. It takes the response and checks that the response is complete.
 *
 * <p><i>Threading:</i> one thread, which is also the event loop.
 */
final class EchoClient implements ResponseSink {
    /** Size of a DATA frame of an HTTP/2 client that may not send larger frames. */
    private static final int PART_BYTES = 16 * 1024;

    private static final int SMALL_BODY_BYTES = 1024;
    private static final int WARM_UP_CALLS = 10_000;

    private final EmbeddedChannel loop = new EmbeddedChannel();
    private final Http2Headers head = requestHead();
    private ByteBuf body = Unpooled.EMPTY_BUFFER;
    private @Nullable RequestSink request;
    private int receivedBytes;
    private boolean ended;

    /**
     * Returns request headers of a typical API client, with the headers that the dispatcher adds.
     */
    private static Http2Headers requestHead() {
        String[] namesAndValues = {
            ":method", "POST",
            ":scheme", "https",
            ":authority", "api.example.com",
            ":path", "/echo",
            "user-agent", "okhttp/5.1.0",
            "accept", "application/json",
            "accept-encoding", "gzip",
            "authorization", "Bearer eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiI0NzExIn0.MEUCIQDx0rJ1bT7mZq",
            "content-type", "application/octet-stream",
            "x-request-id", "0f8fad5b-d9cb-469f-a165-70867728950e",
            "x-forwarded-for", "203.0.113.7",
            "x-forwarded-proto", "https",
            "via", "2.0 dispatcher"
        };
        Http2Headers head = new DefaultHttp2Headers();
        for (int i = 0; i < namesAndValues.length; i += 2) {
            head.add(AsciiString.cached(namesAndValues[i]), AsciiString.cached(namesAndValues[i + 1]));
        }
        return head;
    }

    /**
     * Prepares bodies of {@code bodyBytes}, after sending many small ones. HotSpot uses vector
     * instructions for base64 only in callers that it has compiled. The callers of large bodies are
     * called too rarely to be compiled during a benchmark.
     */
    void prepare(ExchangeOpener opener, int bodyBytes) {
        body(SMALL_BODY_BYTES);
        for (int i = 0; i < WARM_UP_CALLS; i++) {
            exchange(opener);
        }
        body(bodyBytes);
    }

    private void body(int bytes) {
        body.release();
        byte[] content = new byte[bytes];
        new Random(bytes).nextBytes(content);
        body = Unpooled.directBuffer(Math.max(1, bytes)).writeBytes(content);
        head.setInt(HttpHeaderNames.CONTENT_LENGTH, bytes);
    }

    /** Returns the event loop of this client. */
    EventLoop eventLoop() {
        return loop.eventLoop();
    }

    /** @return the size of the response's body, which equals the size of the request's body */
    int exchange(ExchangeOpener opener) {
        receivedBytes = 0;
        ended = false;
        body.readerIndex(0);
        RequestSink sink = opener.open(head, !body.isReadable(), this);
        request = sink;
        while (body.isReadable()) {
            ByteBuf part = body.readRetainedSlice(Math.min(PART_BYTES, body.readableBytes()));
            sink.data(part, !body.isReadable());
        }
        loop.runPendingTasks();
        if (!ended || receivedBytes != body.writerIndex()) {
            throw new IllegalStateException("response of " + receivedBytes + " bytes" + (ended ? "" : ", not ended")
                    + ", expected " + body.writerIndex());
        }
        return receivedBytes;
    }

    void close() {
        body.release();
        loop.finishAndReleaseAll();
    }

    @Override
    public void onHead(Http2Headers responseHead, boolean end) {
        ended = end;
    }

    @Override
    public void onData(ByteBuf data, boolean end) {
        int bytes = data.readableBytes();
        receivedBytes += bytes;
        data.release();
        ended = end;
        if (request != null) {
            request.responseTaken(bytes);
        }
    }

    @Override
    public void onFailure(Failure failure) {
        throw new IllegalStateException(failure.kind() + ": " + failure.detail());
    }

    @Override
    public void onInterim(Http2Headers interim) {}

    @Override
    public void onTrailers(Http2Headers trailers) {
        ended = true;
    }

    @Override
    public void onRequestTaken(int bytes) {}
}
