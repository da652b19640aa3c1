package io.lambdadispatcher.server.metrics;

import io.lambdadispatcher.aws.RequestSigner;
import io.micrometer.registry.otlp.OtlpMetricsSender;
import java.net.URI;
import java.util.HashMap;
import java.util.Map;
import java.util.Objects;

/**
 * Signs each request, as <a
 * href="https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/CloudWatch-OTLPEndpoint.html">CloudWatch</a>
 * expects it. It is sent uncompressed, because the signature covers the body.
 *
 * @param next sends the signed request
 */
record SignedSender(OtlpMetricsSender next, RequestSigner signer) implements OtlpMetricsSender {
    @Override
    public void send(Request request) throws Exception {
        String address = Objects.requireNonNull(request.getAddress());
        Map<String, String> headers = new HashMap<>(request.getHeaders());
        headers.putAll(signer.sign(URI.create(address), request.getMetricsData()));
        next.send(Request.builder(request.getMetricsData())
                .address(address)
                .headers(headers)
                .build());
    }
}
