package io.lambdadispatcher.core.internal.filter;

import io.lambdadispatcher.core.internal.exchange.FunctionOpener;
import io.lambdadispatcher.core.internal.exchange.RequestSink;
import io.lambdadispatcher.core.internal.exchange.ResponseSink;
import io.lambdadispatcher.core.observe.DispatcherObserver;
import io.lambdadispatcher.core.options.CompressionPolicy;
import io.lambdadispatcher.core.options.ContentEncoding;
import io.lambdadispatcher.core.options.TrafficPolicy;
import io.lambdadispatcher.wire.http.ContentEncoder;
import io.lambdadispatcher.wire.http.Grpc;
import io.lambdadispatcher.wire.http.Methods;
import io.netty.buffer.ByteBufAllocator;
import io.netty.channel.EventLoop;
import io.netty.handler.codec.http2.Http2Headers;
import java.util.function.Function;

/**
 * Compresses responses for clients that accept it. It is the outermost filter, so stored responses
 * are stored once and compressed for each client. Tunnels and gRPC calls are never compressed: gRPC
 * has its own compression of messages.
 */
final class CompressionFilter implements FunctionOpener {
    private final FunctionOpener next;
    private final EventLoop loop;
    private final String function;
    private final DispatcherObserver observer;
    private final Function<ContentEncoding, ContentEncoder> encoders;
    private final ByteBufAllocator allocator;
    private final EncoderMemory memory = new EncoderMemory();

    CompressionFilter(FunctionOpener next, EventLoop loop, String function, DispatcherObserver observer) {
        this(next, loop, function, observer, Encoders::create, ByteBufAllocator.DEFAULT);
    }

    /** Creates a filter for a test, which can make memory scarce. */
    CompressionFilter(
            FunctionOpener next,
            EventLoop loop,
            String function,
            DispatcherObserver observer,
            Function<ContentEncoding, ContentEncoder> encoders,
            ByteBufAllocator allocator) {
        this.next = next;
        this.loop = loop;
        this.function = function;
        this.observer = observer;
        this.encoders = encoders;
        this.allocator = allocator;
    }

    @Override
    public RequestSink open(Http2Headers head, boolean end, ResponseSink response, TrafficPolicy policy) {
        CompressionPolicy compression = policy.compression();
        if (compression.isOff() || Methods.isConnect(head.method()) || Grpc.isCall(head)) {
            return next.open(head, end, response, policy);
        }
        return new CompressedExchange(this, compression, head, response).open(next, end, policy);
    }

    @Override
    public TrafficPolicy policy() {
        return next.policy();
    }

    EventLoop loop() {
        return loop;
    }

    EncoderMemory memory() {
        return memory;
    }

    ByteBufAllocator allocator() {
        return allocator;
    }

    ContentEncoder newEncoder(ContentEncoding encoding) {
        return encoders.apply(encoding);
    }

    void onEncoded(ContentEncoding encoding, long bytes, long encodedBytes) {
        observer.onResponseEncoded(function, encoding, bytes, encodedBytes);
    }
}
