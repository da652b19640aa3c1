package io.lambdadispatcher.worker;

import io.lambdadispatcher.wire.worker.ErrorCode;
import io.lambdadispatcher.wire.worker.FrameReader;
import io.lambdadispatcher.wire.worker.FrameType;
import io.lambdadispatcher.wire.worker.FrameWriter;
import io.lambdadispatcher.wire.worker.HeadDecoder;
import io.lambdadispatcher.wire.worker.HeadEncoder;
import io.lambdadispatcher.wire.worker.WireException;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.Http2Exception;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.handler.codec.http2.Http2Stream;
import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/** The dispatcher's end of one worker stream, for tests to write to and to read events from. */
public final class ScriptedStream implements FrameReader.Listener {
    /** Something that the worker has sent. */
    public sealed interface Event {}

    public record Head(Http2Headers headers, boolean end) implements Event {}

    public record Interim(Http2Headers headers) implements Event {}

    public record Timing(long waitMicros, long handlerMicros) implements Event {}

    public record Data(byte[] content, boolean end) implements Event {}

    public record Trailers(Http2Headers headers) implements Event {}

    public record Reset(ErrorCode code, String text) implements Event {}

    public record StreamReset(long errorCode) implements Event {}

    public record StreamEnded() implements Event {}

    /** A response, gathered up to its terminal frame. */
    public record Gathered(Head head, byte[] body, @Nullable Http2Headers trailers) {
        public String status() {
            return String.valueOf(head.headers().status());
        }

        public String text() {
            return new String(body, StandardCharsets.UTF_8);
        }
    }

    public final BlockingQueue<Event> events = new LinkedBlockingQueue<>();
    public final AtomicLong bodyBytes = new AtomicLong();

    /** If true, body bytes are not returned to the worker's window. */
    public volatile boolean holdsWindow;

    /** If true, body bytes are counted and not kept. */
    public volatile boolean countsOnly;

    private final ScriptedDispatcher.Link link;
    private final int id;
    private final HeadEncoder encoder = new HeadEncoder();
    private final HeadDecoder decoder = new HeadDecoder();
    private final FrameReader reader;

    ScriptedStream(ScriptedDispatcher.Link link, int id) {
        this.link = link;
        this.id = id;
        this.reader = FrameReader.ofWorkerStream(link.ctx.alloc(), this);
    }

    public int id() {
        return id;
    }

    public ScriptedDispatcher.Link link() {
        return link;
    }

    public static Http2Headers get(String path) {
        return new DefaultHttp2Headers()
                .method("GET")
                .scheme("http")
                .authority("example")
                .path(path);
    }

    public static Http2Headers post(String path) {
        return get(path).method("POST");
    }

    public void request(Http2Headers head, int timeoutMillis, boolean end) {
        ByteBuf out = link.ctx.alloc().buffer();
        try {
            FrameWriter.writeRequestHead(out, encoder, head, timeoutMillis, end);
        } catch (WireException e) {
            throw new AssertionError(e);
        }
        link.write(id, out);
    }

    /**
     * Sends headers and body in one write, so that the worker reads both before a handler can
     * respond to the headers.
     */
    public void request(Http2Headers head, byte[] body, boolean end) {
        ByteBuf out = link.ctx.alloc().buffer();
        try {
            FrameWriter.writeRequestHead(out, encoder, head, 0, false);
        } catch (WireException e) {
            throw new AssertionError(e);
        }
        FrameWriter.writeDataHeader(out, body.length, end);
        link.write(id, out.writeBytes(body));
    }

    public void data(byte[] content, boolean end) {
        link.write(id, dataFrame(content, end));
    }

    public ByteBuf dataFrame(byte[] content, boolean end) {
        ByteBuf out = link.ctx.alloc().buffer(content.length + 4);
        FrameWriter.writeDataHeader(out, content.length, end);
        return out.writeBytes(content);
    }

    /** @return completes when the frame has passed flow control */
    public io.netty.util.concurrent.Future<Void> dataWhenTaken(byte[] content, boolean end) {
        io.netty.channel.ChannelPromise promise = link.ctx.newPromise();
        ByteBuf out = dataFrame(content, end);
        link.ctx.executor().execute(() -> {
            link.http2.encoder().writeData(link.ctx, id, out, 0, false, promise);
            link.http2.flush(link.ctx);
        });
        return promise;
    }

    public void trailers(Http2Headers fields) {
        ByteBuf out = link.ctx.alloc().buffer();
        try {
            FrameWriter.writeTrailers(out, encoder, fields);
        } catch (WireException e) {
            throw new AssertionError(e);
        }
        link.write(id, out);
    }

    public void reset(ErrorCode code) {
        ByteBuf out = link.ctx.alloc().buffer();
        FrameWriter.writeReset(out, code, "test");
        link.write(id, out);
    }

    public void cancel(ErrorCode code) {
        ByteBuf out = link.ctx.alloc().buffer();
        FrameWriter.writeCancel(out, code);
        link.write(id, out);
    }

    /**
     * Sends a request and CANCEL in one write, so that the worker reads both before it can respond.
     */
    public void requestAndCancel(Http2Headers head) {
        ByteBuf out = link.ctx.alloc().buffer();
        try {
            FrameWriter.writeRequestHead(out, encoder, head, 0, true);
        } catch (WireException e) {
            throw new AssertionError(e);
        }
        FrameWriter.writeCancel(out, ErrorCode.CANCELLED);
        link.write(id, out);
    }

    public void raw(int... content) {
        ByteBuf out = Unpooled.buffer();
        for (int value : content) {
            out.writeByte(value);
        }
        link.write(id, out);
    }

    public Gathered exchange(Http2Headers head) throws InterruptedException {
        request(head, 0, true);
        return gather();
    }

    /** Gathers the response up to its end. Fails on a reset. */
    public Gathered gather() throws InterruptedException {
        Head head = take(Head.class);
        ByteArrayOutputStream body = new ByteArrayOutputStream();
        for (boolean end = head.end(); !end; ) {
            Event event = take(Event.class);
            if (event instanceof Data data) {
                body.writeBytes(data.content());
                end = data.end();
            } else if (event instanceof Trailers trailers) {
                return new Gathered(head, body.toByteArray(), trailers.headers());
            } else {
                throw new AssertionError("response broken by " + event);
            }
        }
        return new Gathered(head, body.toByteArray(), null);
    }

    public <T extends Event> T take(Class<T> type) throws InterruptedException {
        Event event = events.poll(ScriptedDispatcher.WAIT_SECONDS, TimeUnit.SECONDS);
        if (!type.isInstance(event)) {
            throw new AssertionError("got " + event + ", expected " + type.getSimpleName());
        }
        return type.cast(event);
    }

    /** Returns the bytes that {@link #holdsWindow} kept from the window. */
    public void releaseWindow() {
        link.ctx.executor().execute(() -> {
            holdsWindow = false;
            Http2Stream stream = link.http2.connection().stream(id);
            try {
                var flow = link.http2.connection().local().flowController();
                flow.consumeBytes(stream, flow.unconsumedBytes(stream));
                link.http2.flush(link.ctx);
            } catch (Http2Exception e) {
                throw new AssertionError(e);
            }
        });
    }

    /** Waits until that many bytes of the body have arrived. */
    public void awaitBody(long bytes) throws InterruptedException {
        synchronized (bodyBytes) {
            long untilNanos = System.nanoTime() + TimeUnit.SECONDS.toNanos(ScriptedDispatcher.WAIT_SECONDS);
            while (bodyBytes.get() < bytes) {
                long millis = TimeUnit.NANOSECONDS.toMillis(untilNanos - System.nanoTime());
                if (millis <= 0) {
                    throw new AssertionError("got " + bodyBytes + " bytes of body, expected " + bytes);
                }
                bodyBytes.wait(millis);
            }
        }
    }

    int read(ByteBuf in, boolean end) throws WireException {
        int before = in.readableBytes();
        reader.read(in);
        if (end) {
            events.add(new StreamEnded());
        }
        return holdsWindow ? 0 : before;
    }

    void close() {
        reader.close();
    }

    @Override
    public void onData(ByteBuf part, boolean end) {
        synchronized (bodyBytes) {
            bodyBytes.addAndGet(part.readableBytes());
            bodyBytes.notifyAll();
        }
        if (!countsOnly || end) {
            events.add(new Data(countsOnly ? new byte[0] : ByteBufUtil.getBytes(part), end));
        }
        part.release();
    }

    @Override
    public void onFrame(FrameType type, ByteBuf payload, boolean end, long offset) throws WireException {
        events.add(
                switch (type) {
                    case RESPONSE_HEAD -> new Head(decoder.decode(payload, offset), end);
                    case TIMING -> new Timing(payload.readUnsignedInt(), payload.readUnsignedInt());
                    case INTERIM -> new Interim(decoder.decode(payload, offset));
                    case TRAILERS -> new Trailers(decoder.decode(payload, offset));
                    case RESET ->
                        new Reset(
                                ErrorCode.ofCode(payload.readInt()),
                                payload.readCharSequence(payload.readableBytes(), StandardCharsets.UTF_8)
                                        .toString());
                    default -> throw new AssertionError("worker sent " + type);
                });
    }
}
