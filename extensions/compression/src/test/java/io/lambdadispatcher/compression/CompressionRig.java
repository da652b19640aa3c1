package io.lambdadispatcher.compression;

import static org.assertj.core.api.Assertions.assertThat;

import com.aayushatharva.brotli4j.decoder.Decoder;
import com.aayushatharva.brotli4j.decoder.DecoderJNI;
import com.aayushatharva.brotli4j.decoder.DirectDecompress;
import io.lambdadispatcher.core.internal.exchange.Failure;
import io.lambdadispatcher.core.internal.exchange.FunctionOpener;
import io.lambdadispatcher.core.internal.exchange.RequestSink;
import io.lambdadispatcher.core.internal.exchange.ResponseSink;
import io.lambdadispatcher.core.internal.filter.FilterLoop;
import io.lambdadispatcher.core.internal.filter.RequestFilters;
import io.lambdadispatcher.core.internal.pool.SilentClient;
import io.lambdadispatcher.core.observe.DispatcherObserver;
import io.lambdadispatcher.core.observe.FilterEvent;
import io.lambdadispatcher.core.options.TrafficPolicy;
import io.lambdadispatcher.core.spi.Filter;
import io.lambdadispatcher.core.testkit.RecordingObserver;
import io.lambdadispatcher.wire.http.ContentEncoder;
import io.lambdadispatcher.wire.http.FlatHeaders;
import io.lambdadispatcher.wire.worker.ErrorCode;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelHandler;
import io.netty.channel.EventLoop;
import io.netty.channel.embedded.EmbeddedChannel;
import io.netty.handler.codec.compression.BrotliDecoder;
import io.netty.handler.codec.compression.JdkZlibDecoder;
import io.netty.handler.codec.compression.ZlibWrapper;
import io.netty.handler.codec.compression.ZstdDecoder;
import io.netty.handler.codec.http2.Http2Headers;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** A client, the filter as the dispatcher calls it, and a function that a test plays. */
public final class CompressionRig implements ResponseSink {
    final EmbeddedChannel loop = new EmbeddedChannel();
    final RecordingObserver observer = new RecordingObserver();
    final Function function = new Function();
    final ResponseCompression compression;
    private final FunctionOpener filter;

    /** What the client sends its calls to. */
    RequestSink request = function;

    @Nullable
    Http2Headers head;

    @Nullable
    Http2Headers trailers;

    @Nullable
    Failure failure;

    boolean ended;
    int parts;
    int untakenBytes;
    final ByteArrayOutputStream body = new ByteArrayOutputStream();

    CompressionRig() {
        this(Encoders::create, ByteBufAllocator.DEFAULT);
    }

    CompressionRig(java.util.function.Function<ContentEncoding, ContentEncoder> encoders, ByteBufAllocator allocator) {
        compression = new ResponseCompression(encoders, allocator);
        filter = behind(compression, function, loop.eventLoop(), observer);
    }

    /** Returns the function {@code f} behind the filter. */
    public static FunctionOpener behind(
            ResponseCompression compression, FunctionOpener function, EventLoop loop, DispatcherObserver observer) {
        return behind(List.of(compression), function, loop, observer);
    }

    /** Returns the function {@code f} behind filters. */
    public static FunctionOpener behind(
            List<Filter> filters, FunctionOpener function, EventLoop loop, DispatcherObserver observer) {
        FilterLoop home = new FilterLoop(loop, observer, (name, sent, client) -> {
            throw new AssertionError("no filter here sends requests");
        });
        return new RequestFilters(filters, Map.of()).beforeFunction("f", function, true, home);
    }

    int usedBytes() {
        return compression.memory("f").usedBytes();
    }

    /** What was compressed. */
    record Encoded(String encoding, long bytes, long encodedBytes) {}

    List<Encoded> encoded() {
        List<Encoded> all = new ArrayList<>();
        List<FilterEvent> events = List.copyOf(observer.filterEvents);
        for (int i = 0; i < events.size(); i += 3) {
            assertThat(events.subList(i, i + 3))
                    .extracting(FilterEvent::name)
                    .containsExactly("compressed.responses", "compressed.original.body.bytes", "compressed.body.bytes");
            all.add(new Encoded(
                    String.valueOf(events.get(i).labels().get("encoding")),
                    events.get(i + 1).count(),
                    events.get(i + 2).count()));
        }
        return all;
    }

    /** Receives requests, and calls {@link #response}. */
    static final class Function implements FunctionOpener, RequestSink {
        ResponseSink response = new SilentClient();
        Http2Headers received = new FlatHeaders();

        long returnedBytes;

        @Nullable
        ErrorCode cancelled;

        boolean detached;

        @Override
        public RequestSink open(Http2Headers requestHead, boolean end, ResponseSink sink, TrafficPolicy policy) {
            received = requestHead;
            response = sink;
            return this;
        }

        @Override
        public TrafficPolicy policy() {
            return TrafficPolicy.NEUTRAL;
        }

        @Override
        public void data(ByteBuf data, boolean end) {
            data.release();
        }

        @Override
        public void trailers(Http2Headers fields) {}

        @Override
        public void cancel(ErrorCode code) {
            cancelled = code;
        }

        @Override
        public void responseTaken(int bytes) {
            assertThat(bytes).isPositive();
            returnedBytes += bytes;
        }

        @Override
        public void detach() {
            detached = true;
        }
    }

    static FlatHeaders headers(String... namesAndValues) {
        FlatHeaders headers = new FlatHeaders();
        for (int i = 0; i < namesAndValues.length; i += 2) {
            headers.add(namesAndValues[i], namesAndValues[i + 1]);
        }
        return headers;
    }

    static CompressionPolicy policy(ContentEncoding... encodings) {
        return CompressionPolicy.builder().encodings(List.of(encodings)).build();
    }

    /** Sends a request that accepts one encoding, and starts its response. */
    CompressionRig respond(ContentEncoding encoding, String... namesAndValues) {
        open(policy(encoding), "GET", "accept-encoding", encoding.token());
        function.response.onHead(response(namesAndValues), false);
        return this;
    }

    static FlatHeaders response(String... namesAndValues) {
        FlatHeaders fields = new FlatHeaders();
        fields.status("200");
        fields.add(headers(namesAndValues));
        return fields;
    }

    RequestSink open(CompressionPolicy policy, String method, String... namesAndValues) {
        FlatHeaders requestHead = new FlatHeaders();
        requestHead.method(method).scheme("https").authority("a").path("/");
        requestHead.add(headers(namesAndValues));
        return open(policy, requestHead);
    }

    RequestSink open(CompressionPolicy policy, FlatHeaders requestHead) {
        request = filter.open(
                requestHead,
                true,
                this,
                TrafficPolicy.builder()
                        .extension(CompressionPolicy.class, policy)
                        .build());
        return request;
    }

    /** Opens a request whose policy says nothing about compression. */
    RequestSink openWithout() {
        FlatHeaders requestHead = new FlatHeaders();
        requestHead.method("GET").scheme("https").authority("a").path("/");
        return filter.open(requestHead, true, this, TrafficPolicy.NEUTRAL);
    }

    /** The client takes bytes of the encoded body. */
    void take(int bytes) {
        untakenBytes -= bytes;
        request.responseTaken(bytes);
    }

    void takeAll() {
        if (untakenBytes > 0) {
            take(untakenBytes);
        }
    }

    @Override
    public void onInterim(Http2Headers fields) {}

    @Override
    public void onHead(Http2Headers fields, boolean end) {
        head = fields;
        ended = end;
    }

    @Override
    public void onData(ByteBuf data, boolean end) {
        assertThat(ended).isFalse();
        parts++;
        untakenBytes += data.readableBytes();
        byte[] bytes = new byte[data.readableBytes()];
        data.readBytes(bytes);
        body.writeBytes(bytes);
        data.release();
        ended = end;
    }

    @Override
    public void onTrailers(Http2Headers fields) {
        assertThat(ended).isFalse();
        trailers = fields;
        ended = true;
    }

    @Override
    public void onFailure(Failure cause) {
        assertThat(ended).isFalse();
        failure = cause;
    }

    @Override
    public void onRequestTaken(int bytes) {}

    /** Returns what can be decoded of the body so far. */
    byte[] decoded() {
        assertThat(head).isNotNull();
        String encoding = String.valueOf(head.get("content-encoding"));
        return ended && encoding.equals("br") ? decodeBrotli() : decode(encoding, body.toByteArray());
    }

    /** Netty's decoder loses the end of a body that needs no more input than it has got. */
    private byte[] decodeBrotli() {
        try {
            DirectDecompress decoded = Decoder.decompress(body.toByteArray());
            assertThat(decoded.getResultStatus()).isEqualTo(DecoderJNI.Status.DONE);
            return decoded.getDecompressedData();
        } catch (IOException e) {
            throw new AssertionError(e);
        }
    }

    public static byte[] decode(String encoding, byte[] bytes) {
        ChannelHandler decoder = switch (encoding) {
            case "gzip" -> new JdkZlibDecoder(ZlibWrapper.GZIP, 0);
            case "br" -> new BrotliDecoder();
            case "zstd" -> new ZstdDecoder();
            default -> throw new AssertionError(encoding);
        };
        EmbeddedChannel channel = new EmbeddedChannel(decoder);
        channel.writeInbound(Unpooled.wrappedBuffer(bytes));
        ByteArrayOutputStream decoded = new ByteArrayOutputStream();
        for (ByteBuf part = channel.readInbound(); part != null; part = channel.readInbound()) {
            byte[] copy = new byte[part.readableBytes()];
            part.readBytes(copy);
            decoded.writeBytes(copy);
            part.release();
        }
        channel.finishAndReleaseAll();
        return decoded.toByteArray();
    }
}
