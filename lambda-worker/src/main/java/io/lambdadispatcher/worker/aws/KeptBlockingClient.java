package io.lambdadispatcher.worker.aws;

import java.io.FilterInputStream;
import java.io.IOException;
import software.amazon.awssdk.http.AbortableInputStream;
import software.amazon.awssdk.http.ExecutableHttpRequest;
import software.amazon.awssdk.http.HttpExecuteRequest;
import software.amazon.awssdk.http.HttpExecuteResponse;
import software.amazon.awssdk.http.SdkHttpClient;

/**
 * The HTTP client that blocking SDK clients receive. It passes each request to the current client.
 * A request ends when its response's body is read to the end, closed or aborted. Closing this
 * client does nothing, because others use it too. Any thread.
 */
record KeptBlockingClient(Generations<SdkHttpClient> generations) implements SdkHttpClient {
    @Override
    public ExecutableHttpRequest prepareRequest(HttpExecuteRequest request) {
        Generations<SdkHttpClient>.Lease lease = generations.lease();
        try {
            return new Call(lease, lease.client().prepareRequest(request));
        } catch (Throwable e) {
            lease.end();
            throw e;
        }
    }

    @Override
    public String clientName() {
        return "Kept";
    }

    @Override
    public void close() {}

    private record Call(Generations<SdkHttpClient>.Lease lease, ExecutableHttpRequest prepared)
            implements ExecutableHttpRequest {
        @Override
        public HttpExecuteResponse call() throws IOException {
            try {
                HttpExecuteResponse response = prepared.call();
                AbortableInputStream body = response.responseBody().orElse(null);
                if (body == null) {
                    lease.end();
                    return response;
                }
                return HttpExecuteResponse.builder()
                        .response(response.httpResponse())
                        .responseBody(untilEnd(body))
                        .build();
            } catch (Throwable e) {
                lease.end();
                throw e;
            }
        }

        private AbortableInputStream untilEnd(AbortableInputStream body) {
            return AbortableInputStream.create(new Body(body, lease), () -> {
                body.abort();
                lease.end();
            });
        }

        @Override
        public void abort() {
            prepared.abort();
            lease.end();
        }
    }

    private static final class Body extends FilterInputStream {
        private final Generations<SdkHttpClient>.Lease lease;

        Body(AbortableInputStream in, Generations<SdkHttpClient>.Lease lease) {
            super(in);
            this.lease = lease;
        }

        @Override
        public int read() throws IOException {
            return untilEnd(super.read());
        }

        @Override
        public int read(byte[] into, int offset, int length) throws IOException {
            return untilEnd(super.read(into, offset, length));
        }

        private int untilEnd(int read) {
            if (read < 0) {
                lease.end();
            }
            return read;
        }

        @Override
        public void close() throws IOException {
            try {
                super.close();
            } finally {
                lease.end();
            }
        }
    }
}
