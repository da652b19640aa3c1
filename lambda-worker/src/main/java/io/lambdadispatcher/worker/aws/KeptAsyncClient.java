package io.lambdadispatcher.worker.aws;

import java.util.concurrent.CompletableFuture;
import software.amazon.awssdk.http.async.AsyncExecuteRequest;
import software.amazon.awssdk.http.async.SdkAsyncHttpClient;

/**
 * The HTTP client that SDK clients receive. It passes each request to the current client. Closing
 * it does nothing, because others use it too. Any thread.
 */
record KeptAsyncClient(Generations<SdkAsyncHttpClient> generations) implements SdkAsyncHttpClient {
    @Override
    public CompletableFuture<Void> execute(AsyncExecuteRequest request) {
        Generations<SdkAsyncHttpClient>.Lease lease = generations.lease();
        CompletableFuture<Void> done;
        try {
            done = lease.client().execute(request);
        } catch (Throwable e) {
            lease.end();
            throw e;
        }
        done.whenComplete((nothing, error) -> lease.end());
        return done; // the client's own future, so that cancelling it reaches the client
    }

    @Override
    public String clientName() {
        return "KeptAsync";
    }

    @Override
    public void close() {}
}
