package io.lambdadispatcher.core.internal.ingress;

import io.lambdadispatcher.core.internal.embed.EmbeddedExchange;
import io.lambdadispatcher.core.internal.exchange.ExchangeOpener;
import io.lambdadispatcher.core.internal.exchange.Failure;
import io.lambdadispatcher.core.internal.exchange.FunctionOpener;
import io.lambdadispatcher.core.internal.exchange.RequestSink;
import io.lambdadispatcher.core.internal.exchange.ResponseSink;
import io.lambdadispatcher.core.internal.filter.FilterLoop;
import io.lambdadispatcher.core.internal.filter.RequestFilters;
import io.lambdadispatcher.core.internal.ingress.edge.ClientGuard;
import io.lambdadispatcher.core.internal.ingress.edge.CorsMemory;
import io.lambdadispatcher.core.internal.ingress.edge.ErrorAnswers;
import io.lambdadispatcher.core.internal.ingress.edge.IngressContext;
import io.lambdadispatcher.core.internal.ingress.edge.IngressDrain;
import io.lambdadispatcher.core.internal.ingress.edge.TrustedHeaders;
import io.lambdadispatcher.core.internal.ingress.http1.Http1ClientConnection;
import io.lambdadispatcher.core.internal.ingress.http2.Http2ClientConnection;
import io.lambdadispatcher.core.internal.loop.DeadlineQueue;
import io.lambdadispatcher.core.internal.loop.Incidents;
import io.lambdadispatcher.core.observe.DispatcherObserver;
import io.lambdadispatcher.core.options.ForwardingPolicy;
import io.lambdadispatcher.core.options.HttpLimits;
import io.lambdadispatcher.core.options.TrafficPolicy;
import io.lambdadispatcher.core.request.DispatchRequest;
import io.lambdadispatcher.core.request.DispatchResponse;
import io.lambdadispatcher.core.spi.Filter;
import io.lambdadispatcher.wire.http.FlatHeaders;
import io.lambdadispatcher.wire.http.HeaderMaps;
import io.lambdadispatcher.wire.worker.ErrorCode;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.embedded.EmbeddedChannel;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.DefaultHttp2HeadersDecoder;
import io.netty.handler.codec.http2.DefaultHttp2HeadersEncoder;
import io.netty.handler.codec.http2.Http2CodecUtil;
import io.netty.handler.codec.http2.Http2Exception;
import io.netty.handler.codec.http2.Http2FrameTypes;
import io.netty.handler.codec.http2.Http2Headers;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Flow;
import org.jspecify.annotations.Nullable;

/**
 * One of the ways by which a client can send a request. Carries one request, and records what a
 * worker would receive.
 */
abstract class ClientPath implements RequestSink, AutoCloseable {
    enum Kind {
        HTTP1,
        HTTP2,
        EMBEDDED
    }

    final EmbeddedChannel channel = new EmbeddedChannel();

    private final ForwardingPolicy forwarding;
    private final CorsMemory cors;
    private final List<Filter> filters;

    /** Headers that a worker would receive; {@code null} if the request is not passed on. */
    @Nullable
    Http2Headers head;

    @Nullable
    Http2Headers trailers;

    /** Path and query of the request, one character for each byte. */
    CharSequence target = "/";

    private ResponseSink response;
    private boolean ended;
    private boolean cancelled;

    private ClientPath(ForwardingPolicy forwarding, CorsMemory cors, Filter... filters) {
        this.forwarding = forwarding;
        this.cors = cors;
        this.filters = List.of(filters);
    }

    static ClientPath of(Kind kind) {
        return of(kind, ForwardingPolicy.defaults());
    }

    static ClientPath of(Kind kind, ForwardingPolicy forwarding) {
        return of(kind, forwarding, new CorsMemory());
    }

    static ClientPath of(Kind kind, ForwardingPolicy forwarding, CorsMemory cors) {
        return switch (kind) {
            case HTTP1 -> new Http1(forwarding, cors);
            case HTTP2 -> new Http2(forwarding, cors);
            case EMBEDDED -> new Embedded(forwarding);
        };
    }

    /** Returns a client of a dispatcher with a filter. */
    static ClientPath of(Kind kind, Filter filter) {
        return switch (kind) {
            case HTTP1 -> new Http1(ForwardingPolicy.defaults(), new CorsMemory(), filter);
            case HTTP2 -> new Http2(ForwardingPolicy.defaults(), new CorsMemory(), filter);
            case EMBEDDED -> throw new IllegalArgumentException("not implemented");
        };
    }

    private ExchangeOpener opener() {
        FilterLoop home = new FilterLoop(
                channel.eventLoop(), DispatcherObserver.NONE, (to, request, client) -> new CompletableFuture<>());
        FunctionOpener function = new FunctionOpener() {
            @Override
            public RequestSink open(Http2Headers opened, boolean end, ResponseSink sink, TrafficPolicy policy) {
                return ClientPath.this.open(opened, end, sink);
            }

            @Override
            public TrafficPolicy policy() {
                return TrafficPolicy.NEUTRAL;
            }
        };
        return new RequestFilters(filters, Map.of()).beforeFunction("f", function, true, home);
    }

    IngressContext context() {
        return new IngressContext(
                HttpLimits.defaults(),
                new TrustedHeaders(forwarding, Set.of()),
                new ClientGuard(HttpLimits.defaults(), 1, List.of(channel.eventLoop()), DispatcherObserver.NONE)
                        .admit(channel, false, opener()),
                new IngressDrain(),
                new ErrorAnswers(null, forwarding, null, cors, Incidents.unobserved()),
                "http",
                channel.remoteAddress(),
                DispatcherObserver.NONE,
                null);
    }

    /**
     * Sends the request, with the required pseudo-headers, and with a body unless {@code body} is
     * empty.
     */
    abstract void request(Http2Headers fields, String body, @Nullable Http2Headers withTrailers);

    /** Asks for a WebSocket. */
    abstract void connect();

    /** Returns whether the client was told that its request is invalid. */
    abstract boolean isRefused();

    /**
     * Responds instead of a worker.
     *
     * @return the trailers that the client receives, or the headers if there are no trailers
     */
    final @Nullable Http2Headers respond(Http2Headers answer, @Nullable Http2Headers withTrailers) {
        if (answer.status().charAt(0) == '1') {
            response.onInterim(answer);
        } else {
            response.onHead(answer, withTrailers == null);
        }
        if (withTrailers != null) {
            response.onTrailers(withTrailers);
        }
        channel.runPendingTasks();
        return seen(withTrailers != null);
    }

    /** Begins a response instead of a worker. */
    final void open(Http2Headers answer) {
        response.onHead(answer, false);
    }

    /** Says which function gets the request, as the router does. */
    final void route(String function) {
        response.requester().onRouted(function);
    }

    /** Returns the headers of the dispatcher's own answer. */
    final @Nullable Http2Headers fail(Failure failure) {
        response.onFailure(failure);
        channel.runPendingTasks();
        return seen(false);
    }

    /** Returns all bytes of the dispatcher's own answer. */
    final String answerTo(Failure failure) {
        response.onFailure(failure);
        channel.runPendingTasks();
        return sent().toString(StandardCharsets.ISO_8859_1);
    }

    abstract @Nullable Http2Headers seen(boolean inTrailers);

    private RequestSink open(Http2Headers opened, boolean end, ResponseSink sink) {
        head = opened;
        ended = end;
        response = sink;
        return this;
    }

    boolean isComplete() {
        return ended && !cancelled;
    }

    boolean isCancelled() {
        return cancelled;
    }

    @Override
    public void data(ByteBuf data, boolean end) {
        int bytes = data.readableBytes();
        data.release();
        ended |= end;
        response.onRequestTaken(bytes);
    }

    @Override
    public void trailers(Http2Headers given) {
        trailers = given;
        ended = true;
    }

    @Override
    public void cancel(ErrorCode code) {
        cancelled = true;
    }

    @Override
    public void responseTaken(int bytes) {}

    @Override
    public void close() {
        channel.finishAndReleaseAll();
    }

    final ByteBuf sent() {
        ByteBuf all = Unpooled.buffer();
        for (ByteBuf some = channel.readOutbound(); some != null; some = channel.readOutbound()) {
            all.writeBytes(some);
            some.release();
        }
        return all;
    }

    private static final class Http1 extends ClientPath {
        private String text = "";

        Http1(ForwardingPolicy forwarding, CorsMemory cors, Filter... filters) {
            super(forwarding, cors, filters);
            Http1ClientConnection.install(channel.pipeline(), context());
        }

        @Override
        void request(Http2Headers fields, String body, @Nullable Http2Headers withTrailers) {
            StringBuilder out = new StringBuilder("POST " + target + " HTTP/1.1\r\nhost: a\r\n");
            lines(fields, out);
            if (withTrailers != null || !body.isEmpty() && !fields.contains("content-length")) {
                out.append("transfer-encoding: chunked\r\n\r\n4\r\n")
                        .append(body)
                        .append("\r\n0\r\n");
                lines(withTrailers == null ? new DefaultHttp2Headers() : withTrailers, out);
                out.append("\r\n");
            } else {
                out.append("\r\n").append(body);
            }
            channel.writeInbound(Unpooled.copiedBuffer(out, StandardCharsets.ISO_8859_1));
            channel.runPendingTasks();
            text = sent().toString(StandardCharsets.ISO_8859_1);
        }

        @Override
        void connect() {
            channel.writeInbound(Unpooled.copiedBuffer(
                    "GET / HTTP/1.1\r\nhost: a\r\nupgrade: websocket\r\nconnection: Upgrade\r\n"
                            + "sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\nsec-websocket-version: 13\r\n\r\n",
                    StandardCharsets.US_ASCII));
        }

        private static void lines(Http2Headers fields, StringBuilder out) {
            for (Map.Entry<CharSequence, CharSequence> field : fields) {
                out.append(field.getKey()).append(": ").append(field.getValue()).append("\r\n");
            }
        }

        /** Invalid trailers are answered, too, if no response was sent before. */
        @Override
        boolean isRefused() {
            return text.startsWith("HTTP/1.1 400 ");
        }

        @Override
        Http2Headers seen(boolean inTrailers) {
            String all = sent().toString(StandardCharsets.ISO_8859_1);
            int last = all.indexOf("0\r\n");
            String part = inTrailers ? all.substring(last + 3) : all.substring(all.indexOf("\r\n"));
            Http2Headers seen = new DefaultHttp2Headers(false);
            for (String line : part.substring(0, part.indexOf("\r\n\r\n")).split("\r\n")) {
                // Headers of this connection, which follow those of the response.
                if (!line.isEmpty()
                        && !line.equals("transfer-encoding: chunked")
                        && !line.equals("connection: close")) {
                    seen.add(line.substring(0, line.indexOf(':')), line.substring(line.indexOf(':') + 2));
                }
            }
            return seen;
        }
    }

    private static final class Http2 extends ClientPath {
        private static final int END_STREAM = 1;
        private static final int END_HEADERS = 4;

        private final DefaultHttp2HeadersEncoder hpack = new DefaultHttp2HeadersEncoder();
        private boolean reset;

        Http2(ForwardingPolicy forwarding, CorsMemory cors, Filter... filters) {
            super(forwarding, cors, filters);
            Http2ClientConnection.install(channel.pipeline(), context());
            channel.writeInbound(Http2CodecUtil.connectionPrefaceBuf());
            channel.writeInbound(frame(Http2FrameTypes.SETTINGS, 0, 0, Unpooled.EMPTY_BUFFER));
            sent().release();
        }

        @Override
        void request(Http2Headers fields, String body, @Nullable Http2Headers withTrailers) {
            Http2Headers all = new DefaultHttp2Headers(false)
                    .method("POST")
                    .scheme("http")
                    .authority("a")
                    .path(target)
                    .add(fields);
            boolean bodyless = body.isEmpty();
            headers(all, bodyless && withTrailers == null);
            if (!bodyless) {
                ByteBuf data = Unpooled.copiedBuffer(body, StandardCharsets.US_ASCII);
                channel.writeInbound(frame(Http2FrameTypes.DATA, withTrailers == null ? END_STREAM : 0, 1, data));
            }
            if (withTrailers != null) {
                headers(withTrailers, true);
            }
            channel.runPendingTasks();
            ByteBuf out = sent();
            while (out.isReadable()) {
                int bytes = out.readUnsignedMedium();
                reset |= out.readByte() == Http2FrameTypes.RST_STREAM;
                out.skipBytes(5 + bytes);
            }
        }

        @Override
        void connect() {
            headers(
                    new DefaultHttp2Headers(false)
                            .method("CONNECT")
                            .scheme("http")
                            .authority("a")
                            .path("/")
                            .add(":protocol", "websocket"),
                    false);
        }

        private void headers(Http2Headers fields, boolean end) {
            ByteBuf block = Unpooled.buffer();
            try {
                hpack.encodeHeaders(1, fields, block);
            } catch (Http2Exception e) {
                throw new AssertionError(e);
            }
            channel.writeInbound(frame(Http2FrameTypes.HEADERS, END_HEADERS | (end ? END_STREAM : 0), 1, block));
        }

        private static ByteBuf frame(int type, int flags, int stream, ByteBuf payload) {
            return Unpooled.buffer()
                    .writeMedium(payload.readableBytes())
                    .writeByte(type)
                    .writeByte(flags)
                    .writeInt(stream)
                    .writeBytes(payload);
        }

        @Override
        boolean isRefused() {
            return reset;
        }

        @Override
        @Nullable
        Http2Headers seen(boolean inTrailers) {
            DefaultHttp2HeadersDecoder decoder = new DefaultHttp2HeadersDecoder(false);
            ByteBuf out = sent();
            Http2Headers last = null;
            while (out.isReadable()) {
                int bytes = out.readUnsignedMedium();
                byte type = out.readByte();
                out.skipBytes(5);
                ByteBuf payload = out.readSlice(bytes);
                if (type == Http2FrameTypes.HEADERS) {
                    try {
                        last = decoder.decodeHeaders(1, payload);
                    } catch (Http2Exception e) {
                        throw new AssertionError(e);
                    }
                }
            }
            return last;
        }
    }

    private static final class Embedded extends ClientPath {
        private boolean refused;
        private CompletableFuture<DispatchResponse> answer = new CompletableFuture<>();

        Embedded(ForwardingPolicy forwarding) {
            super(forwarding, new CorsMemory());
        }

        @Override
        void request(Http2Headers fields, String body, @Nullable Http2Headers withTrailers) {
            try {
                DispatchRequest.Builder request =
                        DispatchRequest.post(target.toString()).authority("a");
                fields.forEach(field -> request.header(field.getKey(), field.getValue()));
                if (!body.isEmpty()) {
                    request.body(publisher(body));
                }
                if (withTrailers != null) {
                    Map<String, List<String>> all = new LinkedHashMap<>();
                    withTrailers.forEach(
                            field -> all.computeIfAbsent(field.getKey().toString(), name -> new ArrayList<>())
                                    .add(field.getValue().toString()));
                    request.trailers(CompletableFuture.completedFuture(all));
                }
                answer = EmbeddedExchange.start(
                                channel.eventLoop(),
                                context().account(),
                                request.build(),
                                null,
                                Duration.ofSeconds(30),
                                new DeadlineQueue<>(channel.eventLoop(), 0, unread -> {}))
                        .toCompletableFuture();
            } catch (IllegalArgumentException e) {
                refused = true;
            }
            channel.runPendingTasks();
            refused |= answer.isCompletedExceptionally();
        }

        private static Flow.Publisher<ByteBuf> publisher(String body) {
            return subscriber -> subscriber.onSubscribe(new Flow.Subscription() {
                private boolean sent;

                @Override
                public void request(long n) {
                    if (!sent) {
                        sent = true;
                        subscriber.onNext(Unpooled.copiedBuffer(body, StandardCharsets.US_ASCII));
                        subscriber.onComplete();
                    }
                }

                @Override
                public void cancel() {}
            });
        }

        @Override
        boolean isRefused() {
            return refused;
        }

        @Override
        void connect() {
            throw new UnsupportedOperationException("not implemented");
        }

        @Override
        @Nullable
        Http2Headers seen(boolean inTrailers) {
            DispatchResponse given = answer.getNow(null);
            if (given == null) {
                return null;
            }
            if (inTrailers) {
                return HeaderMaps.parse(given.trailers().toCompletableFuture().join());
            }
            Http2Headers seen = new FlatHeaders();
            given.forEachHeader(seen::add);
            return seen;
        }
    }
}
