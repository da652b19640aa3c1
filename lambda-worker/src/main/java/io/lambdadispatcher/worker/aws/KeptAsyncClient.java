package io.lambdadispatcher.worker.aws;

import java.util.concurrent.CompletableFuture;
import software.amazon.awssdk.http.async.AsyncExecuteRequest;
import software.amazon.awssdk.http.async.SdkAsyncHttpClient;

/**
 * What SDK clients are given: each request goes to the generation of its time. Closing does
 * nothing, for others use it too. Any thread.
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
        return done; // itself, so that cancelling it reaches the client
    }

    @Override
    public String clientName() {
        return "KeptAsync";
    }

    @Override
    public void close() {}
}
