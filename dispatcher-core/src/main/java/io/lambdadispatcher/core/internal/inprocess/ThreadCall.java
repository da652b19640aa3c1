package io.lambdadispatcher.core.internal.inprocess;

import io.lambdadispatcher.core.internal.exchange.SmallParts;
import io.lambdadispatcher.core.internal.loop.SeldomLog;
import io.lambdadispatcher.core.spi.InProcessHandler;
import io.lambdadispatcher.core.spi.InProcessRequest;
import io.lambdadispatcher.core.spi.InProcessResponse;
import io.lambdadispatcher.wire.blocking.BlockingInput;
import io.lambdadispatcher.wire.blocking.BlockingOutput;
import io.lambdadispatcher.wire.blocking.CallThread;
import io.lambdadispatcher.wire.blocking.ResponseDraft;
import io.lambdadispatcher.wire.http.HeaderMaps;
import io.lambdadispatcher.wire.http.HeaderText;
import io.lambdadispatcher.wire.http.Methods;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.handler.codec.http2.EmptyHttp2Headers;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.util.AsciiString;
import io.netty.util.concurrent.Ticker;
import java.io.IOException;
import java.io.InputStream;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.slf4j.LoggerFactory;

/**
 * A request on a thread of its own, which is interrupted if nobody wants the response any more. The
 * event loop calls the methods of {@link InProcessCall}. All others run on the handler's thread.
 */
final class ThreadCall implements InProcessCall, InProcessRequest, Runnable {
    private static final SeldomLog log =
            new SeldomLog(LoggerFactory.getLogger(InProcessHandler.class), Ticker.systemTicker());

    /** Maximum number of bytes of one response body that wait, as of a worker stream. */
    static final int WINDOW_BYTES = 256 * 1024;

    /** The client learns of bytes that were read when they are so many, or when none is left. */
    private static final int TOLD_BYTES = 16 * 1024;

    private final InProcessStream stream;
    private final InProcessHandler handler;
    private final Executor threads;
    private final Http2Headers head;
    private final long createdNanos = System.nanoTime();
    private final int timeoutMillis;
    private final RequestInput input;
    private final ResponseOutput output;
    private final HandlerAnswer answer;
    private volatile boolean cancelled;

    private final CallThread thread = new CallThread();

    /** What the handler has written last, if it could not be sent. The handler's thread. */
    private ByteBuf rest = Unpooled.EMPTY_BUFFER;

    /** The client's window limits what waits here: bytes count in it until they are taken. */
    private final class RequestInput extends BlockingInput {
        /** The last part, if small ones may be added to it. */
        private @Nullable ByteBuf joined;

        private int untoldBytes;

        @Override
        protected @Nullable ByteBuf join(ByteBuf data, boolean first) {
            ByteBuf before = first ? null : joined;
            joined = SmallParts.addOrBegin(before, data);
            return joined == null ? data : joined == before ? null : joined;
        }

        @Override
        protected void onTaken(int bytes, int leftBytes) {
            untoldBytes += bytes;
            if (untoldBytes > 0 && (leftBytes == 0 || untoldBytes >= TOLD_BYTES)) {
                int told = untoldBytes;
                untoldBytes = 0;
                stream.onLoop(() -> stream.onRequestTaken(ThreadCall.this, told));
            }
        }
    }

    /** The handler's thread waits while too many bytes have not been taken by the client. */
    private final class ResponseOutput extends BlockingOutput {
        private final AtomicInteger untakenBytes = new AtomicInteger();

        void onTaken(int bytes) {
            untakenBytes.addAndGet(-bytes);
            onWritable();
        }

        @Override
        public void write(byte[] from, int offset, int length) throws IOException {
            if (!Methods.isHead(head.method())) {
                super.write(from, offset, length);
            }
        }

        @Override
        protected void sendHead() {
            Http2Headers unsent = takeHead();
            if (unsent != null) {
                stream.onLoop(() -> stream.onHead(ThreadCall.this, unsent, false));
            }
        }

        @Override
        protected boolean send(ByteBuf data) {
            untakenBytes.addAndGet(data.readableBytes());
            if (!stream.onLoop(() -> stream.onData(ThreadCall.this, data, false))) {
                data.release();
            }
            return isWritable();
        }

        @Override
        protected boolean isWritable() {
            return !cancelled && untakenBytes.get() < WINDOW_BYTES;
        }

        @Override
        protected void verifyWanted() throws IOException {
            if (cancelled) {
                throw new IOException("the response is no longer needed");
            }
        }
    }

    /** What the handler sees of the response. */
    private static final class HandlerAnswer extends ResponseDraft<InProcessResponse> implements InProcessResponse {
        HandlerAnswer(BlockingOutput body) {
            super(body);
        }

        @Override
        protected InProcessResponse self() {
            return this;
        }
    }

    ThreadCall(
            InProcessStream stream,
            InProcessHandler handler,
            Executor threads,
            Http2Headers head,
            boolean bodyless,
            int timeoutMillis) {
        this.stream = stream;
        this.handler = handler;
        this.threads = threads;
        this.head = head;
        this.timeoutMillis = timeoutMillis;
        this.input = new RequestInput();
        this.output = new ResponseOutput();
        this.answer = new HandlerAnswer(output);
        if (bodyless) {
            input.end(EmptyHttp2Headers.INSTANCE);
        }
    }

    // Event loop.

    @Override
    public void start() {
        try {
            threads.execute(this);
        } catch (RejectedExecutionException | OutOfMemoryError e) {
            // JDK 17 throws the error if the system permits no more threads.
            input.close();
            stream.onLoop(() -> stream.onRefused(this, "no thread is free: " + e.getMessage()));
        }
    }

    @Override
    public void onRequestData(ByteBuf data) {
        input.add(data);
    }

    @Override
    public void onRequestEnd(Http2Headers trailers) {
        input.end(trailers);
    }

    @Override
    public void onResponseTaken(int bytes) {
        output.onTaken(bytes);
    }

    @Override
    public void cancel() {
        cancelled = true;
        input.fail("the request was cancelled");
        output.onWritable();
        thread.interrupt();
    }

    // The handler's thread.

    @Override
    public void run() {
        thread.begin();
        long calledNanos = System.nanoTime();
        Runnable last = () -> {};
        try {
            if (!cancelled) {
                handler.handle(this, answer);
                answer.verifyBegun();
                last = lastOfResponse();
            }
        } catch (Throwable e) {
            last = failure(e);
        } finally {
            thread.end();
            output.drop();
            input.close();
            end(calledNanos, last);
        }
    }

    /** Takes what is left of the response. The result sends it, on the event loop. */
    private Runnable lastOfResponse() {
        Http2Headers unsent = takeHead();
        Http2Headers trailers = answer.trailers();
        ByteBuf left = output.takeGathered();
        ByteBuf data = left == null ? Unpooled.EMPTY_BUFFER : left;
        rest = data;
        boolean dataEnds = trailers == null && (data.isReadable() || unsent == null);
        return () -> {
            if (unsent != null) {
                stream.onHead(this, unsent, trailers == null && !dataEnds);
            }
            if (data.isReadable() || dataEnds) {
                stream.onData(this, data, dataEnds);
            }
            if (trailers != null) {
                stream.onTrailers(this, trailers);
            }
        };
    }

    private Runnable failure(Throwable cause) {
        if (!cancelled) {
            log.warn("the in-process handler failed on {} {}", method(), path(), cause);
        }
        String detail = "the in-process handler threw " + cause.getClass().getName();
        return () -> stream.onFailed(this, detail);
    }

    private void end(long calledNanos, Runnable last) {
        long waitMicros = TimeUnit.NANOSECONDS.toMicros(calledNanos - createdNanos);
        long handlerMicros = TimeUnit.NANOSECONDS.toMicros(System.nanoTime() - calledNanos);
        boolean passed = stream.onLoop(() -> {
            try {
                stream.onTiming(this, waitMicros, handlerMicros);
                last.run();
            } finally {
                stream.onReturned(this);
            }
        });
        if (!passed) {
            rest.release();
        }
    }

    /** Returns status and headers, which are sent now; {@code null} if they have been sent. */
    private @Nullable Http2Headers takeHead() {
        Http2Headers unsent = answer.unsentHead();
        answer.onHeadSent();
        return unsent;
    }

    @Override
    public String method() {
        return text(head.method());
    }

    @Override
    public String path() {
        return text(head.path());
    }

    @Override
    public String scheme() {
        return text(head.scheme());
    }

    @Override
    public String authority() {
        return text(head.authority());
    }

    private static String text(@Nullable CharSequence value) {
        return value == null ? "" : value.toString();
    }

    @Override
    public @Nullable String header(String name) {
        CharSequence value = head.get(AsciiString.of(name).toLowerCase());
        return value == null ? null : HeaderText.decode(value);
    }

    @Override
    public Map<String, List<String>> headers() {
        return HeaderMaps.of(head);
    }

    @Override
    public InputStream body() {
        return input;
    }

    @Override
    public Map<String, List<String>> trailers() {
        return HeaderMaps.of(input.trailers());
    }

    @Override
    public Optional<Duration> remaining() {
        if (timeoutMillis == 0) {
            return Optional.empty();
        }
        long left = TimeUnit.MILLISECONDS.toNanos(timeoutMillis) - (System.nanoTime() - createdNanos);
        return Optional.of(Duration.ofNanos(Math.max(0, left)));
    }

    @Override
    public boolean isCancelled() {
        return cancelled;
    }
}
