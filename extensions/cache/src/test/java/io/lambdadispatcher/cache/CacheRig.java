package io.lambdadispatcher.cache;

import io.lambdadispatcher.core.internal.exchange.Failure;
import io.lambdadispatcher.core.internal.exchange.FunctionOpener;
import io.lambdadispatcher.core.internal.exchange.RequestSink;
import io.lambdadispatcher.core.internal.exchange.Requester;
import io.lambdadispatcher.core.internal.exchange.ResponseSink;
import io.lambdadispatcher.core.internal.filter.FilterLoop;
import io.lambdadispatcher.core.internal.filter.RequestFilters;
import io.lambdadispatcher.core.internal.pool.SilentClient;
import io.lambdadispatcher.core.observe.DispatcherObserver;
import io.lambdadispatcher.core.options.TrafficPolicy;
import io.lambdadispatcher.core.spi.Decision;
import io.lambdadispatcher.core.spi.Filter;
import io.lambdadispatcher.core.spi.RequestContext;
import io.lambdadispatcher.core.testkit.RecordingObserver;
import io.lambdadispatcher.wire.worker.ErrorCode;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.channel.EventLoop;
import io.netty.channel.embedded.EmbeddedChannel;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.Http2Headers;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;

/** The cache on two event loops, before a function whose responses the test sends. One thread. */
final class CacheRig {
    private static final EmbeddedChannel LOOP = new EmbeddedChannel();
    static final long EPOCH_MILLIS = 1_700_000_000_000L;

    final List<Call> calls = new ArrayList<>();
    final RecordingObserver observer = new RecordingObserver();
    final List<Client> clients = new ArrayList<>();
    final EmbeddedChannel[] loops = {new EmbeddedChannel(), new EmbeddedChannel()};
    final FunctionOpener[] filters = new FunctionOpener[2];
    final ResponseStore store;
    private final HttpCache cache;
    TrafficPolicy policy;
    boolean open;
    long nanos = TimeUnit.DAYS.toNanos(1);

    /** Passes with each look at the clock. */
    long tickNanos;

    CacheRig(TrafficPolicy policy, long maxBytes) {
        this.policy = policy;
        store = new ResponseStore(
                maxBytes,
                () -> nanos += tickNanos,
                () -> EPOCH_MILLIS + TimeUnit.NANOSECONDS.toMillis(nanos) - 86_400_000L);
        cache = new HttpCache(store);
        for (int i = 0; i < 2; i++) {
            loops[i].freezeTime();
            filters[i] = behind(cache, "f", new Function(), loops[i].eventLoop(), observer);
        }
    }

    /** The requests of an event loop go to another function from here on. */
    void route(int loop, String function) {
        filters[loop] = behind(cache, function, new Function(), loops[loop].eventLoop(), observer);
    }

    /** Returns the function behind the cache. */
    static FunctionOpener behind(
            HttpCache cache, String name, FunctionOpener function, EventLoop loop, DispatcherObserver observer) {
        FilterLoop home = new FilterLoop(loop, observer, (to, sent, client) -> {
            throw new AssertionError("the cache sends no requests past the breaker");
        });
        return new RequestFilters(List.of(cache), Map.of()).beforeFunction(name, function, true, home);
    }

    /** Returns a request as the dispatcher shows it to filters. */
    static RequestContext asked(Http2Headers head, TrafficPolicy policy) {
        AtomicReference<RequestContext> asked = new AtomicReference<>();
        Filter filter = context -> {
            asked.set(context);
            return Decision.answer(204, "");
        };
        FilterLoop home = new FilterLoop(LOOP.eventLoop(), DispatcherObserver.NONE, (name, sent, client) -> {
            throw new AssertionError("nothing is sent");
        });
        new RequestFilters(List.of(filter), Map.of())
                .beforeFunction("f", new Never(), true, home)
                .open(head, true, new SilentClient(), policy);
        return asked.get();
    }

    private static final class Never implements FunctionOpener {
        @Override
        public RequestSink open(Http2Headers head, boolean end, ResponseSink response, TrafficPolicy policy) {
            throw new AssertionError("the request is answered");
        }

        @Override
        public TrafficPolicy policy() {
            return TrafficPolicy.NEUTRAL;
        }
    }

    /** Returns status and substitute of each exchange that has ended. */
    List<String> reports() {
        return observer.ends.stream()
                .map(end -> end.status() + " "
                        + (end.substitute() == null ? "" : end.substitute().token()))
                .toList();
    }

    /** Releases what clients have not read. */
    void close() {
        clients.forEach(Client::read);
    }

    void pass(double seconds) {
        nanos += (long) (seconds * 1e9);
        for (EmbeddedChannel each : loops) {
            each.advanceTimeBy((long) (seconds * 1e9), TimeUnit.NANOSECONDS);
        }
    }

    /** Sleeps, and runs the timers of the event loops. */
    void sleepWithTimers(double seconds) {
        pass(seconds);
        for (EmbeddedChannel each : loops) {
            each.runScheduledPendingTasks();
            each.runPendingTasks();
        }
    }

    void run() {
        for (EmbeddedChannel each : loops) {
            each.runPendingTasks();
        }
    }

    static Http2Headers fields(Http2Headers head, String... fields) {
        for (String field : fields) {
            int colon = field.indexOf(':', 1);
            head.add(field.substring(0, colon), field.substring(colon + 1).strip());
        }
        return head;
    }

    Client get(int loop, String path, String... fields) {
        return send(loop, "GET", path, fields);
    }

    Client send(int loop, String method, String path, String... fields) {
        Http2Headers head = new DefaultHttp2Headers(false)
                .method(method)
                .scheme("https")
                .authority("a.example")
                .path(path);
        return send(loop, fields(head, fields));
    }

    Client send(int loop, Http2Headers head) {
        Client client = new Client();
        clients.add(client);
        client.request = filters[loop].open(head, true, client, policy);
        // A renewal begins after the stale response.
        loops[loop].runPendingTasks();
        return client;
    }

    private final class Function implements FunctionOpener {
        @Override
        public RequestSink open(Http2Headers head, boolean end, ResponseSink response, TrafficPolicy applied) {
            Call call = new Call(head, response, applied);
            calls.add(call);
            return call;
        }

        @Override
        public TrafficPolicy policy() {
            return policy;
        }

        @Override
        public boolean isBreakerOpen(TrafficPolicy its) {
            return open;
        }
    }

    /** What the function has received. */
    static final class Call implements RequestSink {
        final Http2Headers head;
        final ResponseSink response;
        final TrafficPolicy policy;
        int taken;
        boolean cancelled;

        Call(Http2Headers head, ResponseSink response, TrafficPolicy policy) {
            this.head = head;
            this.response = response;
            this.policy = policy;
        }

        void head(int status, boolean end, String... fields) {
            response.onHead(fields(new DefaultHttp2Headers(false).status(Integer.toString(status)), fields), end);
        }

        void data(String text, boolean end) {
            ByteBuf data = ByteBufAllocator.DEFAULT.directBuffer();
            data.writeCharSequence(text, StandardCharsets.UTF_8);
            response.onData(data, end);
        }

        void respond(int status, String body, String... fields) {
            head(status, false, fields);
            data(body, true);
        }

        void fail(Failure.Kind kind) {
            response.onFailure(new Failure(kind, "of the test"));
        }

        @Override
        public void data(ByteBuf data, boolean end) {
            data.release();
        }

        @Override
        public void trailers(Http2Headers trailers) {}

        @Override
        public void cancel(ErrorCode code) {
            cancelled = true;
        }

        @Override
        public void responseTaken(int bytes) {
            taken += bytes;
        }
    }

    /** What a client has received. It keeps buffers until {@link #read}. */
    static final class Client implements ResponseSink {
        private final Object key = new Object();
        RequestSink request;
        Http2Headers head;
        boolean ended;
        Failure failure;
        final List<ByteBuf> unread = new ArrayList<>();
        final StringBuilder body = new StringBuilder();

        Client read() {
            for (ByteBuf each : unread) {
                body.append(each.toString(StandardCharsets.UTF_8));
                int bytes = each.readableBytes();
                each.release();
                request.responseTaken(bytes);
            }
            unread.clear();
            return this;
        }

        /** Returns status and body, or the failure, or "" before the end. */
        String answer() {
            read();
            return failure != null
                    ? failure.kind().token()
                    : !ended ? "" : head.status() + (body.isEmpty() ? "" : " " + body);
        }

        String field(String name) {
            CharSequence value = head.get(name);
            return value == null ? null : value.toString();
        }

        @Override
        public Requester requester() {
            return Requester.named(key);
        }

        @Override
        public void onInterim(Http2Headers interim) {}

        @Override
        public void onHead(Http2Headers given, boolean end) {
            if (head != null || failure != null) {
                throw new IllegalStateException("a second response");
            }
            head = given;
            ended = end;
        }

        @Override
        public void onData(ByteBuf data, boolean end) {
            if (ended || head == null) {
                throw new IllegalStateException("data outside of a response");
            }
            unread.add(data);
            ended = end;
        }

        @Override
        public void onTrailers(Http2Headers trailers) {
            ended = true;
        }

        @Override
        public void onFailure(Failure given) {
            if (ended || failure != null) {
                throw new IllegalStateException("a failure after the end");
            }
            failure = given;
        }

        @Override
        public void onRequestTaken(int bytes) {}
    }
}
