package io.lambdadispatcher.server.tracing;

import io.lambdadispatcher.core.observe.DispatcherObserver;
import io.lambdadispatcher.opentelemetry.DispatcherTracing;
import io.lambdadispatcher.wire.http.PrintableText;
import io.opentelemetry.sdk.OpenTelemetrySdk;
import io.opentelemetry.sdk.autoconfigure.AutoConfiguredOpenTelemetrySdk;
import io.opentelemetry.sdk.autoconfigure.spi.ConfigurationException;
import java.net.URI;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.slf4j.bridge.SLF4JBridgeHandler;

/**
 * OpenTelemetry's SDK with an exporter of OTLP. Environment variables of OpenTelemetry override
 * everything except what the settings of the dispatcher say.
 */
public final class TraceExport implements AutoCloseable {
    private static final long MAX_SECONDS = 5;

    private final OpenTelemetrySdk sdk;
    private final DispatcherTracing tracing;

    /**
     * Starts the exporter. A collector that cannot be reached is only logged, because it may start
     * later.
     *
     * @param endpoint URL of the collector, without a path for gRPC, or with that of HTTP
     * @param ratio part of the requests that is traced, 0 to 1
     * @param callersDecide whether a {@code traceparent} decides instead
     * @throws IllegalArgumentException if the SDK rejects the endpoint or one of its environment
     *     variables
     */
    public TraceExport(URI endpoint, double ratio, boolean callersDecide) {
        // The SDK logs with java.util.logging.
        SLF4JBridgeHandler.removeHandlersForRootLogger();
        SLF4JBridgeHandler.install();
        sdk = build(endpoint);
        tracing = new DispatcherTracing(sdk, ratio, callersDecide);
    }

    private static OpenTelemetrySdk build(URI endpoint) {
        try {
            return AutoConfiguredOpenTelemetrySdk.builder()
                    .addPropertiesSupplier(() -> Map.of(
                            "otel.service.name",
                            "lambda-dispatcher",
                            // A path or a user agent can be as long as a client likes.
                            "otel.attribute.value.length.limit",
                            "1024",
                            // Fewer and larger exports than by default, because each costs CPU
                            // time.
                            "otel.bsp.max.queue.size",
                            "4096",
                            "otel.bsp.max.export.batch.size",
                            "1024"))
                    .addPropertiesCustomizer(config -> settings(endpoint))
                    .disableShutdownHook()
                    .build()
                    .getOpenTelemetrySdk();
        } catch (ConfigurationException e) {
            throw new IllegalArgumentException(
                    "OpenTelemetry rejects tracing.endpoint or an environment variable OTEL_...: "
                            + PrintableText.ofFailure(e),
                    e);
        }
    }

    private static Map<String, String> settings(URI endpoint) {
        Map<String, String> settings = new HashMap<>();
        settings.put("otel.traces.exporter", "otlp");
        settings.put("otel.metrics.exporter", "none");
        settings.put("otel.logs.exporter", "none");
        // Baggage passes unmodified, as all other headers do.
        settings.put("otel.propagators", "tracecontext");
        // The dispatcher has decided which requests are traced.
        settings.put("otel.traces.sampler", "always_on");
        // The SDK prefers these names to those without "traces". It does not append a path to them.
        boolean grpc = endpoint.getPath().length() <= 1;
        settings.put("otel.exporter.otlp.traces.endpoint", endpoint.toString().replaceFirst("/$", ""));
        settings.put("otel.exporter.otlp.traces.protocol", grpc ? "grpc" : "http/protobuf");
        return settings;
    }

    public DispatcherObserver observer() {
        return tracing;
    }

    /** @param ratio part of the requests that is traced from now on, 0 to 1 */
    public void setRatio(double ratio) {
        tracing.setRatio(ratio);
    }

    /** Sends the spans that are left. Blocks for at most 5 s. */
    @Override
    public void close() {
        tracing.close();
        sdk.shutdown().join(MAX_SECONDS, TimeUnit.SECONDS);
    }
}
