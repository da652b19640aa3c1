package io.lambdadispatcher.aws;

import java.net.URI;
import java.util.HashMap;
import java.util.Map;
import software.amazon.awssdk.auth.credentials.AwsCredentialsProvider;
import software.amazon.awssdk.auth.credentials.DefaultCredentialsProvider;
import software.amazon.awssdk.http.ContentStreamProvider;
import software.amazon.awssdk.http.SdkHttpMethod;
import software.amazon.awssdk.http.SdkHttpRequest;
import software.amazon.awssdk.http.auth.aws.signer.AwsV4HttpSigner;
import software.amazon.awssdk.http.auth.spi.signer.SignedRequest;

/**
 * Signs POST requests to a service of AWS that no client of the SDK sends, such as CloudWatch's
 * endpoint of OTLP. Any thread.
 *
 * @see <a href="https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv.html">Signature
 *     Version 4</a>
 */
public final class RequestSigner {
    private static final AwsV4HttpSigner SIGNER = AwsV4HttpSigner.create();

    private final AwsCredentialsProvider credentials;
    private final String service;
    private final String region;

    /**
     * @param credentials asked for each request, so they may change; not closed by this object
     * @param service in whose name AWS checks the signature, such as {@code monitoring}
     */
    public RequestSigner(AwsCredentialsProvider credentials, String service, String region) {
        this.credentials = credentials;
        this.service = service;
        this.region = region;
    }

    /** Returns a signer that finds its credentials as the clients of the SDK do. */
    public static RequestSigner withDefaultCredentials(String service, String region) {
        return new RequestSigner(DefaultCredentialsProvider.builder().build(), service, region);
    }

    /**
     * Returns the headers that the request needs in addition to its own. May block while
     * credentials are fetched.
     *
     * @param uri with host and path
     * @throws software.amazon.awssdk.core.exception.SdkClientException if there are no credentials
     */
    public Map<String, String> sign(URI uri, byte[] body) {
        SdkHttpRequest unsigned =
                SdkHttpRequest.builder().method(SdkHttpMethod.POST).uri(uri).build();
        SignedRequest signed = SIGNER.sign(sign -> sign.identity(credentials.resolveCredentials())
                .request(unsigned)
                .payload(ContentStreamProvider.fromByteArray(body))
                .putProperty(AwsV4HttpSigner.SERVICE_SIGNING_NAME, service)
                .putProperty(AwsV4HttpSigner.REGION_NAME, region));
        Map<String, String> headers = new HashMap<>();
        signed.request().forEachHeader((name, values) -> headers.put(name, values.get(0)));
        headers.remove("Host"); // Each client sets it.
        return headers;
    }
}
