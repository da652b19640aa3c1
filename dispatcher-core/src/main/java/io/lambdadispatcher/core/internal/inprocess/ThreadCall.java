package io.lambdadispatcher.core.internal.inprocess;

import io.lambdadispatcher.core.internal.loop.SeldomLog;
import io.lambdadispatcher.core.spi.InProcessHandler;
import io.lambdadispatcher.core.spi.InProcessRequest;
import io.lambdadispatcher.wire.http.HeaderMaps;
import io.lambdadispatcher.wire.http.HeaderText;
import io.lambdadispatcher.wire.http.Methods;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.handler.codec.http2.EmptyHttp2Headers;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.util.AsciiString;
import io.netty.util.concurrent.Ticker;
import java.io.InputStream;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.LoggerFactory;

/**
 * A request on a thread of its own, which is interrupted if nobody wants the response any more. The
 * event loop calls the methods of {@link InProcessCall}. All others run on the handler's thread.
 */
final class ThreadCall implements InProcessCall, InProcessRequest, ResponseOutput.Target, Runnable {
    private static final SeldomLog log =
            new SeldomLog(LoggerFactory.getLogger(InProcessHandler.class), Ticker.systemTicker());

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

    /** Guards {@link #thread}, so that an interrupt does not reach the thread's next task. */
    private final Object threadLock = new Object();

    private @Nullable Thread thread;

    /** What the handler has written last, if it could not be sent. The handler's thread. */
    private ByteBuf rest = Unpooled.EMPTY_BUFFER;

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
        this.input = new RequestInput(bytes -> stream.onLoop(() -> stream.onRequestTaken(this, bytes)));
        this.output = new ResponseOutput(this, Methods.isHead(head.method()));
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
        input.cancel();
        output.cancel();
        synchronized (threadLock) {
            if (thread != null) {
                thread.interrupt();
            }
        }
    }

    // The handler's thread.

    @Override
    public void run() {
        setThread(Thread.currentThread());
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
            setThread(null);
            // Clears an interrupt that was meant for this request.
            Thread.interrupted();
            output.drop();
            input.close();
            end(calledNanos, last);
        }
    }

    private void setThread(@Nullable Thread current) {
        synchronized (threadLock) {
            thread = current;
        }
    }

    /** Takes what is left of the response. The result sends it, on the event loop. */
    private Runnable lastOfResponse() {
        Http2Headers unsent = answer.takeHead();
        Http2Headers trailers = answer.trailers();
        ByteBuf data = output.hasGathered() ? output.takeGathered() : Unpooled.EMPTY_BUFFER;
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
            stream.onTiming(this, waitMicros, handlerMicros);
            last.run();
            stream.onReturned(this);
        });
        if (!passed) {
            rest.release();
        }
    }

    @Override
    public void sendHead() {
        Http2Headers unsent = answer.takeHead();
        if (unsent != null) {
            stream.onLoop(() -> stream.onHead(this, unsent, false));
        }
    }

    @Override
    public void send(ByteBuf data) {
        if (!stream.onLoop(() -> stream.onData(this, data, false))) {
            data.release();
        }
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
