package io.lambdadispatcher.it;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import io.grpc.Server;
import io.grpc.netty.shaded.io.grpc.netty.NettyServerBuilder;
import io.grpc.stub.StreamObserver;
import io.opentelemetry.proto.collector.trace.v1.ExportTraceServiceRequest;
import io.opentelemetry.proto.collector.trace.v1.ExportTraceServiceResponse;
import io.opentelemetry.proto.collector.trace.v1.TraceServiceGrpc;
import io.opentelemetry.proto.common.v1.AnyValue;
import io.opentelemetry.proto.common.v1.KeyValue;
import io.opentelemetry.proto.trace.v1.ResourceSpans;
import io.opentelemetry.proto.trace.v1.Span;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.stream.Collectors;
import java.util.zip.GZIPInputStream;

/** Receives traces by OTLP, over gRPC or over HTTP, as a collector does. */
final class TraceCollector implements AutoCloseable {
    private final BlockingQueue<ResourceSpans> received = new LinkedBlockingQueue<>();
    private final URI endpoint;
    private final Runnable stop;

    private TraceCollector(boolean grpc) throws IOException {
        if (grpc) {
            Server server = NettyServerBuilder.forAddress(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0))
                    .addService(new Service())
                    .build()
                    .start();
            endpoint = URI.create("http://127.0.0.1:" + server.getPort());
            stop = server::shutdownNow;
        } else {
            HttpServer server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
            server.createContext("/v1/traces", this::receive);
            server.start();
            endpoint = URI.create("http://127.0.0.1:" + server.getAddress().getPort());
            stop = () -> server.stop(0);
        }
    }

    static TraceCollector ofGrpc() throws IOException {
        return new TraceCollector(true);
    }

    static TraceCollector ofHttp() throws IOException {
        return new TraceCollector(false);
    }

    private final class Service extends TraceServiceGrpc.TraceServiceImplBase {
        @Override
        public void export(ExportTraceServiceRequest request, StreamObserver<ExportTraceServiceResponse> response) {
            received.addAll(request.getResourceSpansList());
            response.onNext(ExportTraceServiceResponse.getDefaultInstance());
            response.onCompleted();
        }
    }

    private void receive(HttpExchange exchange) throws IOException {
        boolean zipped = "gzip".equals(exchange.getRequestHeaders().getFirst("content-encoding"));
        try (InputStream body = exchange.getRequestBody();
                InputStream plain = zipped ? new GZIPInputStream(body) : body) {
            received.addAll(ExportTraceServiceRequest.parseFrom(plain).getResourceSpansList());
        }
        exchange.getResponseHeaders().set("content-type", "application/x-protobuf");
        exchange.sendResponseHeaders(200, -1);
        exchange.close();
    }

    URI endpoint() {
        return endpoint;
    }

    /** Returns all spans so far. */
    List<Span> spans() {
        return received.stream()
                .flatMap(resource -> resource.getScopeSpansList().stream())
                .flatMap(scope -> scope.getSpansList().stream())
                .toList();
    }

    /** Returns the attributes of the resource that sent the first span. */
    Map<String, Object> resource() {
        return attributes(received.element().getResource().getAttributesList());
    }

    static Map<String, Object> attributes(List<KeyValue> attributes) {
        return attributes.stream().collect(Collectors.toMap(KeyValue::getKey, each -> value(each.getValue())));
    }

    private static Object value(AnyValue value) {
        return switch (value.getValueCase()) {
            case STRING_VALUE -> value.getStringValue();
            case INT_VALUE -> value.getIntValue();
            case BOOL_VALUE -> value.getBoolValue();
            case DOUBLE_VALUE -> value.getDoubleValue();
            default -> value.toString();
        };
    }

    @Override
    public void close() {
        stop.run();
    }
}
