package io.lambdadispatcher.worker.aws;

import io.lambdadispatcher.worker.internal.exchange.Concurrency;
import io.lambdadispatcher.worker.internal.transport.FreezeClocks;
import io.lambdadispatcher.worker.snapshot.SnapshotListener;
import io.lambdadispatcher.worker.snapshot.Snapshots;
import java.net.URI;
import java.time.Duration;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.function.UnaryOperator;
import software.amazon.awssdk.http.SdkHttpClient;
import software.amazon.awssdk.http.apache.ApacheHttpClient;
import software.amazon.awssdk.http.async.SdkAsyncHttpClient;
import software.amazon.awssdk.http.nio.netty.NettyNioAsyncHttpClient;

/**
 * The connections of a worker to AWS. Give {@link #async} or {@link #blocking} to every SDK client
 * that is built:
 *
 * <pre>{@code
 * DynamoDbAsyncClient.builder().httpClient(AwsConnections.shared().async()).build();
 * }</pre>
 *
 * All of them then share one pool, as large as the worker's concurrency, whose connections are kept
 * as long as a peer can be trusted to keep them:
 *
 * <ul>
 *   <li>an idle connection is closed before its peer would do so ({@link Builder#maxIdle}), also
 *       when the environment was frozen meanwhile, see {@link Generations};
 *   <li>TCP keep-alive is on, for NAT gateways and load balancers between;
 *   <li>a connection that its peer has closed is taken out by the event loop that reads it ({@code
 *       async}), or is read from before it is used again after two seconds ({@code blocking});
 *   <li>before a snapshot all connections are closed; they are dialled again after the restore,
 *       with the first request or by {@link #prime}.
 * </ul>
 *
 * Threads, classes and sockets are not needed before the first request. Any thread may call any
 * method.
 */
public final class AwsConnections implements SnapshotListener, AutoCloseable {
    private static final class Shared {
        static final AwsConnections INSTANCE = builder().build();
    }

    private final Generations<SdkAsyncHttpClient> asyncClients;
    private final Generations<SdkHttpClient> blockingClients;
    private final NettyClients netty;
    private final SdkAsyncHttpClient async;
    private final SdkHttpClient blocking;
    private final Queue<Primer> primers = new ConcurrentLinkedQueue<>();
    private volatile boolean beforeSnapshot;

    private AwsConnections(Builder builder) {
        long idleMillis = builder.maxIdle.toMillis();
        netty = new NettyClients(builder.maxIdle, builder.asyncChange);
        asyncClients =
                new Generations<>(netty::make, builder::requests, builder.clocks, idleMillis, AwsConnections::close);
        Blocking apache = new Blocking(builder.maxIdle, builder.blockingChange);
        blockingClients =
                new Generations<>(apache::make, builder::requests, builder.clocks, idleMillis, AwsConnections::close);
        async = new KeptAsyncClient(asyncClients);
        blocking = new KeptBlockingClient(blockingClients);
        beforeSnapshot = builder.beforeSnapshot;
        builder.snapshots.register(this);
    }

    /**
     * Seldom, and Netty's client waits for its event loop there: not on the thread that has found
     * it to be old, which may be just that.
     */
    private static void close(Runnable client) {
        Thread thread = new Thread(client, "aws-close");
        thread.setDaemon(true);
        thread.start();
    }

    /** Of the process, with the builder's defaults. Never closed. */
    public static AwsConnections shared() {
        return Shared.INSTANCE;
    }

    public static Builder builder() {
        return new Builder();
    }

    /**
     * For {@code …AsyncClient.builder().httpClient(…)}. Closing it, or an SDK client that uses it,
     * closes nothing.
     */
    public SdkAsyncHttpClient async() {
        return async;
    }

    /** For {@code …Client.builder().httpClient(…)}; as {@link #async}. */
    public SdkHttpClient blocking() {
        return blocking;
    }

    /**
     * Dials so many connections of {@link #async} before the first request needs them: now, and
     * again after each restore. Where a snapshot is still to be taken (SnapStart's initialisation),
     * only after the restore.
     *
     * @param endpoint such as {@code https://dynamodb.eu-west-1.amazonaws.com}
     * @return completes, never exceptionally, when there is nothing more to dial now
     */
    public CompletionStage<Void> prime(URI endpoint, int connections) {
        Primer primer = new Primer(endpoint, connections);
        primers.add(primer);
        return beforeSnapshot ? CompletableFuture.completedFuture(null) : primer.run(async);
    }

    @Override
    public void beforeCheckpoint() {
        close();
    }

    /** What was dialled in spite of all between checkpoint and snapshot is gone by now. */
    @Override
    public void afterRestore() {
        close();
        beforeSnapshot = false;
        primers.forEach(primer -> primer.run(async));
    }

    /**
     * Closes all connections, those with requests in flight too, and returns when they are closed.
     * A later request dials again.
     */
    @Override
    public void close() {
        asyncClients.closeAll();
        blockingClients.closeAll();
        netty.stop();
    }

    /** Apart, so that this file loads without Apache's client. */
    private record Blocking(Duration maxIdle, UnaryOperator<ApacheHttpClient.Builder> change) {
        SdkHttpClient make(int requests) {
            return change.apply(ApacheHttpClient.builder()
                            .maxConnections(requests)
                            .connectionMaxIdleTime(maxIdle)
                            .useIdleConnectionReaper(true)
                            .tcpKeepAlive(true))
                    .build();
        }
    }

    /** Not thread-safe. */
    public static final class Builder {
        /** What S3 tolerates, and the SDK's own default for it; other services are more patient. */
        private static final Duration S3_IDLE = Duration.ofSeconds(5);

        /** A worker's concurrency where it is not known: that of a worker by default. */
        private static final int USUAL_REQUESTS = 100;

        private Duration maxIdle = S3_IDLE;
        private int callsOfRequest = 1;
        private UnaryOperator<NettyNioAsyncHttpClient.Builder> asyncChange = UnaryOperator.identity();
        private UnaryOperator<ApacheHttpClient.Builder> blockingChange = UnaryOperator.identity();
        private Snapshots snapshots = Snapshots.ofProcess();
        private FreezeClocks clocks = FreezeClocks.SYSTEM;
        private boolean beforeSnapshot = "snap-start".equals(System.getenv("AWS_LAMBDA_INITIALIZATION_TYPE"));

        private Builder() {}

        /**
         * How long a connection may be idle; 5 s by default, which all services bear. Clients of
         * DynamoDB alone may take more, up to a minute.
         *
         * @throws IllegalArgumentException if it is less than a millisecond
         */
        public Builder maxIdle(Duration maxIdle) {
            if (maxIdle.toMillis() < 1) {
                throw new IllegalArgumentException("maxIdle: " + maxIdle + ", expected at least 1 ms");
            }
            this.maxIdle = maxIdle;
            return this;
        }

        /**
         * How many calls to AWS the handler makes for one request at the same time; 1 by default.
         * Times the worker's concurrency it is the most connections to each endpoint; more calls
         * wait.
         */
        public Builder callsOfRequest(int calls) {
            if (calls < 1) {
                throw new IllegalArgumentException("callsOfRequest: " + calls + ", expected at least 1");
            }
            callsOfRequest = calls;
            return this;
        }

        /** What else the client is to have: proxies, trust, timeouts. */
        public Builder async(UnaryOperator<NettyNioAsyncHttpClient.Builder> change) {
            asyncChange = change;
            return this;
        }

        public Builder blocking(UnaryOperator<ApacheHttpClient.Builder> change) {
            blockingChange = change;
            return this;
        }

        public Builder snapshots(Snapshots snapshots) {
            this.snapshots = snapshots;
            return this;
        }

        /** Whether a snapshot is still to be taken; by default as Lambda says. */
        Builder beforeSnapshot(boolean before) {
            beforeSnapshot = before;
            return this;
        }

        Builder clocks(FreezeClocks clocks) {
            this.clocks = clocks;
            return this;
        }

        private int requests() {
            return callsOfRequest * Concurrency.ofWorkers(USUAL_REQUESTS);
        }

        public AwsConnections build() {
            return new AwsConnections(this);
        }
    }
}
