package io.lambdadispatcher.wire.cpu;

import io.lambdadispatcher.wire.event.Json;
import io.lambdadispatcher.wire.http.PrintableText;
import io.netty.util.internal.logging.InternalLogger;
import io.netty.util.internal.logging.InternalLoggerFactory;
import java.io.IOException;
import java.io.InputStream;
import java.net.HttpURLConnection;
import java.net.Proxy;
import java.net.URI;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * The limit of processor time of the ECS task, also on Fargate. The containers of a task share it,
 * and do not find it in their control groups. Any thread.
 *
 * <p>It is read once, and again after a minute if that fails, from the <a
 * href="https://docs.aws.amazon.com/AmazonECS/latest/developerguide/task-metadata-endpoint-v4-fargate-response.html">task
 * metadata endpoint, version 4</a>: {@code Limits.CPU} of the task, in vCPUs. On EC2, a task may
 * have none. {@code Limits.CPU} of a container has another unit, and is no limit.
 */
final class TaskLimit {
    static final double NONE = Double.POSITIVE_INFINITY;

    private static final InternalLogger log = InternalLoggerFactory.getInstance(TaskLimit.class);

    /** Nothing waits for the answer, and it is late if the processor time is used up already. */
    private static final int TIMEOUT_MILLIS = 5_000;

    private static final long RETRY_NANOS = TimeUnit.MINUTES.toNanos(1);

    private static final int MAX_BYTES = 1 << 20;

    private static final TaskLimit OWN =
            new TaskLimit(System.getenv("ECS_CONTAINER_METADATA_URI_V4"), TIMEOUT_MILLIS, RETRY_NANOS);

    private final @Nullable String endpoint;
    private final int timeoutMillis;
    private final long retryNanos;

    private volatile boolean known;
    private volatile double processors = NONE;
    private @Nullable Thread reader;
    private long begunNanos;
    private boolean warned;

    /** @param endpoint where the task is described; null = this is no task */
    TaskLimit(@Nullable String endpoint, int timeoutMillis, long retryNanos) {
        this.endpoint = endpoint;
        this.timeoutMillis = timeoutMillis;
        this.retryNanos = retryNanos;
    }

    /** Returns the limit of the task of this process. */
    static TaskLimit own() {
        return OWN;
    }

    /**
     * Returns the number of processors, such as 0.25; {@link #NONE} = no limit, or not known yet.
     * The first call begins to read it.
     */
    double processors() {
        if (endpoint != null && !known) {
            read(endpoint + "/task");
        }
        return processors;
    }

    /** Reads in a separate thread, because the callers are event loops. */
    private synchronized void read(String uri) {
        long now = System.nanoTime();
        if (reader == null || !reader.isAlive() && now - begunNanos >= retryNanos) {
            begunNanos = now;
            reader = new Thread(() -> onAnswer(uri), "ecs-task-limit");
            reader.setDaemon(true);
            reader.start();
        }
    }

    private void onAnswer(String uri) {
        try {
            processors = limitOf(get(uri, timeoutMillis));
            known = true;
            log.info("this ECS task has {}", processors == NONE ? "no limit" : "a limit of " + processors + " vCPU");
        } catch (IOException | RuntimeException e) {
            if (!warned) {
                warned = true;
                log.warn(
                        "cannot read the limit of this ECS task from {}, so only the limit of its control group counts:"
                                + " {}",
                        PrintableText.of(uri),
                        PrintableText.ofFailure(e));
            }
        }
    }

    private static double limitOf(byte[] text) throws IOException {
        Map<String, @Nullable Object> task = Json.readObject(text);
        if (task.isEmpty()) {
            throw new IOException("the answer is no JSON object, expected a task");
        }
        Object limit = task.get("Limits") instanceof Map<?, ?> limits ? limits.get("CPU") : null;
        if (limit == null) {
            return NONE;
        }
        if (limit instanceof Number number && number.doubleValue() > 0) {
            return number.doubleValue();
        }
        throw new IOException("Limits.CPU is " + limit + ", expected a number above 0");
    }

    private static byte[] get(String uri, int timeoutMillis) throws IOException {
        if (!(URI.create(uri).toURL().openConnection(Proxy.NO_PROXY) instanceof HttpURLConnection connection)) {
            throw new IOException("expected an http address");
        }
        connection.setInstanceFollowRedirects(false);
        connection.setConnectTimeout(timeoutMillis);
        connection.setReadTimeout(timeoutMillis);
        try {
            if (connection.getResponseCode() != HttpURLConnection.HTTP_OK) {
                throw new IOException("the status is " + connection.getResponseCode() + ", expected 200");
            }
            try (InputStream body = connection.getInputStream()) {
                return body.readNBytes(MAX_BYTES);
            }
        } finally {
            connection.disconnect();
        }
    }
}
