package io.lambdadispatcher.server.metrics;

import io.micrometer.registry.otlp.OtlpMetricsSender;
import java.net.URI;
import java.util.HashMap;
import java.util.Map;
import software.amazon.awssdk.auth.credentials.AwsCredentialsProvider;
import software.amazon.awssdk.http.ContentStreamProvider;
import software.amazon.awssdk.http.SdkHttpMethod;
import software.amazon.awssdk.http.SdkHttpRequest;
import software.amazon.awssdk.http.auth.aws.signer.AwsV4HttpSigner;
import software.amazon.awssdk.http.auth.spi.signer.SignedRequest;

/**
 * Signs each request with version 4 of AWS's signatures.
 *
 * @param next sends the signed request
 * @param service in whose name AWS checks the signature
 * @see <a href="https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/CloudWatch-OTLPEndpoint.html">OTLP
 *     endpoints of CloudWatch</a>
 */
record SignedSender(OtlpMetricsSender next, AwsCredentialsProvider credentials, String service, String region)
        implements OtlpMetricsSender {
    private static final AwsV4HttpSigner SIGNER = AwsV4HttpSigner.create();

    @Override
    public void send(Request request) throws Exception {
        SdkHttpRequest.Builder unsigned =
                SdkHttpRequest.builder().method(SdkHttpMethod.POST).uri(URI.create(request.getAddress()));
        SignedRequest signed = SIGNER.sign(sign -> sign.identity(credentials.resolveCredentials())
                .request(unsigned.build())
                .payload(ContentStreamProvider.fromByteArray(request.getMetricsData()))
                .putProperty(AwsV4HttpSigner.SERVICE_SIGNING_NAME, service)
                .putProperty(AwsV4HttpSigner.REGION_NAME, region));
        Map<String, String> headers = new HashMap<>(request.getHeaders());
        signed.request().forEachHeader((name, values) -> headers.put(name, values.get(0)));
        headers.remove("Host"); // The connection sets it.
        next.send(Request.builder(request.getMetricsData())
                .address(request.getAddress())
                .headers(headers)
                .compressionMode(request.getCompressionMode())
                .build());
    }
}
