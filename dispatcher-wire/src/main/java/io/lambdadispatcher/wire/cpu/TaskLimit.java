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
import org.jspecify.annotations.Nullable;

/**
 * The limit of processor time of the ECS task, also on Fargate. The containers of a task share it,
 * and do not find it in their control groups. Any thread.
 *
 * <p>It is read once, from the <a
 * href="https://docs.aws.amazon.com/AmazonECS/latest/developerguide/task-metadata-endpoint-v4-fargate-response.html">task
 * metadata endpoint, version 4</a>: {@code Limits.CPU} of the task, in vCPUs. On EC2, a task may
 * have none. {@code Limits.CPU} of a container has another unit, and is no limit.
 */
final class TaskLimit {
    static final double NONE = Double.POSITIVE_INFINITY;

    private static final InternalLogger log = InternalLoggerFactory.getInstance(TaskLimit.class);

    /** Nothing waits for the answer, and it is late if the processor time is used up already. */
    private static final int TIMEOUT_MILLIS = 5_000;

    private static final int MAX_BYTES = 1 << 20;

    private volatile double processors = NONE;

    /** Read when it is needed for the first time. */
    private static final class Own {
        private static final TaskLimit LIMIT = of(System.getenv("ECS_CONTAINER_METADATA_URI_V4"), TIMEOUT_MILLIS);
    }

    private TaskLimit() {}

    /** Returns the limit of the task of this process. The first call starts to read it. */
    static TaskLimit own() {
        return Own.LIMIT;
    }

    /** @param endpoint where the task is described; null = this is no task */
    static TaskLimit of(@Nullable String endpoint, int timeoutMillis) {
        TaskLimit limit = new TaskLimit();
        if (endpoint != null) {
            // A thread of its own, because the callers are event loops.
            Thread reader = new Thread(() -> limit.read(endpoint + "/task", timeoutMillis), "ecs-task-limit");
            reader.setDaemon(true);
            reader.start();
        }
        return limit;
    }

    /** Returns the number of processors, such as 0.25; {@link #NONE} = no limit, or not known yet. */
    double processors() {
        return processors;
    }

    private void read(String uri, int timeoutMillis) {
        try {
            processors = limitOf(get(uri, timeoutMillis));
            log.info("this ECS task has {}", processors == NONE ? "no limit" : "a limit of " + processors + " vCPU");
        } catch (IOException | RuntimeException e) {
            log.warn(
                    "cannot read the limit of this ECS task from {}, so only the limit of its control group counts: {}",
                    PrintableText.of(uri),
                    PrintableText.ofFailure(e));
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
