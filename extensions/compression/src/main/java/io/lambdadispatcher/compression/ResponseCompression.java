package io.lambdadispatcher.compression;

import io.lambdadispatcher.core.spi.Decision;
import io.lambdadispatcher.core.spi.Filter;
import io.lambdadispatcher.core.spi.RequestContext;
import io.lambdadispatcher.wire.http.ContentEncoder;
import io.netty.buffer.ByteBufAllocator;
import java.util.HashMap;
import java.util.Map;
import java.util.Objects;
import java.util.function.Function;

/**
 * Compresses responses for clients that accept it. Stored responses are stored once and compressed
 * for each client. Tunnels and gRPC calls are never compressed: gRPC has its own compression of
 * messages.
 *
 * <pre>{@code
 * TrafficPolicy compressed = TrafficPolicy.builder()
 *         .extension(
 *                 CompressionPolicy.class,
 *                 CompressionPolicy.builder()
 *                         .encodings(List.of(ContentEncoding.GZIP))
 *                         .build())
 *         .build();
 * Dispatcher.builder()
 *         .function(FunctionOptions.builder("shop").traffic(compressed).build())
 *         .filter(new ResponseCompression());
 * }</pre>
 */
public final class ResponseCompression implements Filter {
    private static final String GRPC = "application/grpc";

    private final Function<ContentEncoding, ContentEncoder> encoders;
    private final ByteBufAllocator allocator;

    /** By function. Each event loop has its own. */
    private final ThreadLocal<Map<String, EncoderMemory>> memory = ThreadLocal.withInitial(HashMap::new);

    public ResponseCompression() {
        this(Encoders::create, ByteBufAllocator.DEFAULT);
    }

    /** Creates a filter for a test, which can make memory scarce. */
    ResponseCompression(Function<ContentEncoding, ContentEncoder> encoders, ByteBufAllocator allocator) {
        this.encoders = encoders;
        this.allocator = allocator;
    }

    @Override
    public Phase phase() {
        return Phase.ENCODE;
    }

    @Override
    public Class<?> policyType() {
        return CompressionPolicy.class;
    }

    @Override
    public Decision onRequest(RequestContext request) {
        CompressionPolicy policy = request.policy(CompressionPolicy.class);
        if (policy == null || policy.isOff() || request.method().equals("CONNECT") || isGrpc(request)) {
            return Decision.pass();
        }
        return Decision.pass(new EncodedResponse(this, policy, typesOf(request, policy), request));
    }

    private static boolean isGrpc(RequestContext request) {
        String type = request.headers().get("content-type");
        return type != null && type.regionMatches(true, 0, GRPC, 0, GRPC.length());
    }

    private static MediaTypes typesOf(RequestContext request, CompressionPolicy policy) {
        MediaTypes its = request.policy(MediaTypes.class);
        return its == null ? policy.mediaTypes() : its;
    }

    /** Returns the memory of a function's encoders on this event loop. */
    EncoderMemory memory(RequestContext request) {
        return memory(Objects.requireNonNull(request.function(), "function"));
    }

    EncoderMemory memory(String function) {
        return memory.get().computeIfAbsent(function, its -> new EncoderMemory());
    }

    ByteBufAllocator allocator() {
        return allocator;
    }

    ContentEncoder newEncoder(ContentEncoding encoding) {
        return encoders.apply(encoding);
    }
}
