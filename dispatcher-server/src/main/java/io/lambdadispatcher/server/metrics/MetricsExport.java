package io.lambdadispatcher.server.metrics;

import io.lambdadispatcher.aws.RequestSigner;
import io.micrometer.core.instrument.Clock;
import io.micrometer.core.ipc.http.HttpUrlConnectionSender;
import io.micrometer.registry.otlp.OtlpConfig;
import io.micrometer.registry.otlp.OtlpHttpMetricsSender;
import io.micrometer.registry.otlp.OtlpMeterRegistry;
import io.micrometer.registry.otlp.OtlpMetricsSender;
import java.net.InetAddress;
import java.net.URI;
import java.net.UnknownHostException;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Makes registries that send their metrics once a minute by OTLP over HTTP. Environment variables
 * {@code OTEL_...} override the name of the service, and add attributes and headers.
 */
final class MetricsExport {
    private static final String SERVICE = "service.name";
    private static final String INSTANCE = "service.instance.id";

    /** An endpoint of CloudWatch, which expects signed requests. */
    private static final Pattern OF_AWS =
            Pattern.compile("monitoring\\.(?<region>[a-z0-9-]+)\\.(amazonaws\\.com(\\.cn)?|api\\.aws)");

    private MetricsExport() {}

    /** @param endpoint URL of a collector, or of CloudWatch, with its path */
    static OtlpMeterRegistry registry(URI endpoint, Clock clock) {
        return registry(endpoint, clock, sender(endpoint));
    }

    static OtlpMeterRegistry registry(URI endpoint, Clock clock, OtlpMetricsSender sender) {
        return OtlpMeterRegistry.builder(new Config(endpoint.toString()))
                .clock(clock)
                .metricsSender(sender)
                .build();
    }

    private static OtlpMetricsSender sender(URI endpoint) {
        OtlpMetricsSender sender = new OtlpHttpMetricsSender(new HttpUrlConnectionSender());
        Matcher aws = OF_AWS.matcher(endpoint.getHost());
        return aws.matches()
                ? new SignedSender(sender, RequestSigner.withDefaultCredentials("monitoring", aws.group("region")))
                : sender;
    }

    /** What the environment does not say. */
    private record Config(String url) implements OtlpConfig {
        @Override
        public @Nullable String get(String key) {
            return null;
        }

        @Override
        public Map<String, String> resourceAttributes() {
            Map<String, String> attributes = new HashMap<>(OtlpConfig.super.resourceAttributes());
            if (attributes.getOrDefault(SERVICE, "unknown_service").equals("unknown_service")) {
                attributes.put(SERVICE, "lambda-dispatcher");
            }
            attributes.computeIfAbsent(INSTANCE, unset -> hostName());
            return attributes;
        }

        /** As in the text that Prometheus reads. */
        @Override
        public TimeUnit baseTimeUnit() {
            return TimeUnit.SECONDS;
        }

        private static @Nullable String hostName() {
            try {
                return InetAddress.getLocalHost().getHostName();
            } catch (UnknownHostException e) {
                return null; // The metrics of several dispatchers are then one series.
            }
        }
    }
}
