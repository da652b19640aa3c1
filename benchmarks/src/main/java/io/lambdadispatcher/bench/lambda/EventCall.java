package io.lambdadispatcher.bench.lambda;

import io.lambdadispatcher.wire.ErrorCode;
import io.lambdadispatcher.worker.handler.BodyReader;
import io.lambdadispatcher.worker.handler.Request;
import io.lambdadispatcher.worker.handler.RequestBody;
import io.lambdadispatcher.worker.handler.Response;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import io.netty.handler.codec.http2.EmptyHttp2Headers;
import io.netty.handler.codec.http2.Http2Headers;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.time.Duration;
import java.util.Arrays;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * One request of one event, and its response, which is gathered whole, for there is no streaming on this path. The body is there from the
 * beginning; the response is always writable; nobody cancels. The handler begins on the environment's thread and may end on any.
 */
final class EventCall {
    private static final byte[] NOTHING = {};

    private final AlbRequest event;
    private final ScheduledExecutorService timers;
    private final long endNanos;
    private final CompletableFuture<AlbResponse> answer = new CompletableFuture<>();

    EventCall(AlbRequest event, ScheduledExecutorService timers, Duration remaining) {
        this.event = event;
        this.timers = timers;
        this.endNanos = System.nanoTime() + remaining.toNanos();
    }

    Request request() {
        return new Incoming();
    }

    Response response() {
        return new Outgoing();
    }

    /** Blocks until the handler has answered. @throws IOException if it broke its response off, or the environment was killed */
    AlbResponse await() throws IOException {
        try {
            return answer.get();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IOException("killed", e);
        } catch (ExecutionException e) {
            Throwable cause = Objects.requireNonNull(e.getCause());
            throw new IOException(cause.getMessage(), cause);
        }
    }

    private final class Incoming implements Request, RequestBody {
        private boolean paused;
        private boolean dataGiven;
        private boolean endGiven;
        private @Nullable BodyReader reader;

        @Override
        public Http2Headers headers() {
            return event.headers();
        }

        @Override
        public RequestBody body() {
            return this;
        }

        @Override
        public Optional<Duration> remaining() {
            return Optional.of(Duration.ofNanos(Math.max(0, endNanos - System.nanoTime())));
        }

        @Override
        public void onCancel(Consumer<ErrorCode> listener) {
            // Lambda does not tell a function that the client has gone.
        }

        @Override
        public void onDrain(Consumer<Duration> listener) {
            // Nor that its environment goes: an invocation has its end from the start.
        }

        @Override
        public @Nullable ErrorCode cancellation() {
            return null;
        }

        @Override
        public ScheduledExecutorService eventLoop() {
            return timers;
        }

        @Override
        public boolean isEmpty() {
            return event.body().length == 0;
        }

        @Override
        public void read(BodyReader newReader) {
            if (reader != null) {
                throw new IllegalStateException("the body has a reader already");
            }
            reader = newReader;
            give(newReader);
        }

        @Override
        public void pause() {
            paused = true;
        }

        @Override
        public void resume() {
            paused = false;
            if (reader != null) {
                give(reader);
            }
        }

        private void give(BodyReader to) {
            try {
                if (!paused && !dataGiven) {
                    dataGiven = true;
                    if (!isEmpty()) {
                        to.onData(Unpooled.wrappedBuffer(event.body()));
                    }
                }
                if (!paused && !endGiven) {
                    endGiven = true;
                    to.onEnd(EmptyHttp2Headers.INSTANCE);
                }
            } catch (Exception e) {
                answer.completeExceptionally(e);
            }
        }
    }

    private final class Outgoing implements Response {
        private @Nullable Http2Headers head;
        private byte[] body = NOTHING;
        private @Nullable ByteArrayOutputStream more;

        @Override
        public void interim(Http2Headers interim) {
            // An event has no place for it.
        }

        @Override
        public void head(Http2Headers first) {
            if (head != null) {
                throw new IllegalStateException("the head is there already");
            }
            head = first;
        }

        @Override
        public boolean write(ByteBuf octets) {
            try {
                verifyHead();
                if (octets.isReadable()) {
                    add(octets);
                }
                return true;
            } finally {
                octets.release();
            }
        }

        /** The only part, which most bodies have, becomes the body as it is. */
        private void add(ByteBuf octets) {
            if (body.length == 0) {
                body = whole(octets);
                return;
            }
            if (more == null) {
                more = new ByteArrayOutputStream();
            }
            try {
                octets.readBytes(more, octets.readableBytes());
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }

        private static byte[] whole(ByteBuf octets) {
            boolean itself = octets.hasArray()
                    && octets.arrayOffset() + octets.readerIndex() == 0
                    && octets.readableBytes() == octets.array().length;
            return itself ? octets.array() : ByteBufUtil.getBytes(octets);
        }

        private Http2Headers verifyHead() {
            if (head == null) {
                throw new IllegalStateException("no head yet");
            }
            return head;
        }

        @Override
        public boolean isWritable() {
            return !answer.isDone();
        }

        @Override
        public void onWritable(Runnable listener) {
            // It never is not.
        }

        @Override
        public void end() {
            end(EmptyHttp2Headers.INSTANCE);
        }

        /** Trailers have no place in an event. */
        @Override
        public void end(Http2Headers trailers) {
            answer.complete(new AlbResponse(verifyHead(), body()));
        }

        private byte[] body() {
            if (more == null) {
                return body;
            }
            byte[] rest = more.toByteArray();
            byte[] all = Arrays.copyOf(body, body.length + rest.length);
            System.arraycopy(rest, 0, all, body.length, rest.length);
            return all;
        }

        @Override
        public void respond(Http2Headers first, ByteBuf octets) {
            head(first);
            write(octets);
            end();
        }

        @Override
        public void respond(Http2Headers first) {
            head(first);
            end();
        }

        @Override
        public void fail(ErrorCode code, String text) {
            answer.completeExceptionally(new IOException(code + ": " + text));
        }
    }
}
