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
 * Keeps the connections of a worker to AWS. Pass {@link #async} or {@link #blocking} to every SDK
 * client that you build:
 *
 * <pre>{@code
 * DynamoDbAsyncClient.builder().httpClient(AwsConnections.shared().async()).build();
 * }</pre>
 *
 * <p>All SDK clients then share one pool, which is as large as the worker's concurrency. It keeps
 * connections as follows:
 *
 * <ul>
 *   <li>An idle connection is closed before its peer would close it ({@link Builder#maxIdle}). If
 *       the environment was frozen, connections are replaced. See {@link Generations}.
 *   <li>TCP keep-alive is on, because there may be NAT gateways and load balancers on the way.
 *   <li>A connection that its peer has closed is not used again. With {@code async}, the event loop
 *       notices the close. With {@code blocking}, a connection is checked after 2 s without use.
 *   <li>All connections are closed before a snapshot. After the restore, the first request or
 *       {@link #prime} opens them again.
 * </ul>
 *
 * <p>Nothing is loaded, started or opened before the first request. Any thread may call any method.
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
     * Closes a client on another thread. Netty's client waits for its event loop, and the calling
     * thread may be that event loop. Clients are closed rarely, so a new thread is cheap enough.
     */
    private static void close(Runnable client) {
        Thread thread = new Thread(client, "aws-close");
        thread.setDaemon(true);
        thread.start();
    }

    /**
     * Returns the connections of the process, with the builder's defaults. They are never closed.
     */
    public static AwsConnections shared() {
        return Shared.INSTANCE;
    }

    public static Builder builder() {
        return new Builder();
    }

    /**
     * Returns the HTTP client for {@code …AsyncClient.builder().httpClient(…)}. It stays usable if
     * it is closed, or if an SDK client that uses it is closed.
     */
    public SdkAsyncHttpClient async() {
        return async;
    }

    /**
     * Returns the HTTP client for {@code …Client.builder().httpClient(…)}. It stays usable if it is
     * closed, or if an SDK client that uses it is closed.
     */
    public SdkHttpClient blocking() {
        return blocking;
    }

    /**
     * Opens connections of {@link #async} before the first request needs them: immediately, and
     * after each restore. During an initialisation of SnapStart, they are opened only after the
     * restore.
     *
     * @param endpoint such as {@code https://dynamodb.eu-west-1.amazonaws.com}
     * @param connections how many to open
     * @return completes when no more connections are being opened now. Never fails
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

    /**
     * Closes connections that were opened between the checkpoint and the snapshot, because they no
     * longer exist, and runs {@link #prime} again.
     */
    @Override
    public void afterRestore() {
        close();
        beforeSnapshot = false;
        primers.forEach(primer -> primer.run(async));
    }

    /**
     * Closes all connections, also those with requests in flight, and returns when they are closed.
     * A later request opens new ones.
     */
    @Override
    public void close() {
        // First, so that a request of another thread meanwhile gets an event loop that stays.
        Runnable stop = netty.detachLoops();
        asyncClients.closeAll();
        blockingClients.closeAll();
        stop.run();
    }

    /** A separate class, so that this file can be loaded without Apache's client. */
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

    /** Collects the settings of {@link AwsConnections}. Not thread-safe. */
    public static final class Builder {
        /**
         * The idle time that S3 tolerates, which is also the SDK's default. Other services tolerate
         * more.
         */
        private static final Duration S3_IDLE = Duration.ofSeconds(5);

        /** Used if the worker's concurrency is not known: the default of workers. */
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
         * Sets how long a connection may be idle. Default: 5 s, which all services tolerate. If you
         * only use DynamoDB, you can set up to 1 min.
         *
         * @throws IllegalArgumentException if the time is less than 1 ms
         */
        public Builder maxIdle(Duration maxIdle) {
            if (maxIdle.toMillis() < 1) {
                throw new IllegalArgumentException("maxIdle: " + maxIdle + ", expected at least 1 ms");
            }
            this.maxIdle = maxIdle;
            return this;
        }

        /**
         * Sets how many calls to AWS the handler makes concurrently for one request. Default: 1.
         * The maximum number of connections to each endpoint is this value times the worker's
         * concurrency. Further calls wait.
         */
        public Builder callsOfRequest(int calls) {
            if (calls < 1) {
                throw new IllegalArgumentException("callsOfRequest: " + calls + ", expected at least 1");
            }
            callsOfRequest = calls;
            return this;
        }

        /**
         * Sets a function that changes the client's other settings, for example proxies, trust and
         * timeouts.
         */
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

        /**
         * Sets whether a snapshot is still to be taken. Default: what Lambda's environment says.
         */
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
