package io.lambdadispatcher.worker;

import com.amazonaws.services.lambda.runtime.Context;
import com.amazonaws.services.lambda.runtime.RequestStreamHandler;
import io.lambdadispatcher.wire.event.Json;
import io.lambdadispatcher.wire.http.PrintableText;
import io.lambdadispatcher.worker.adapter.function.FunctionHandler;
import io.lambdadispatcher.worker.config.WorkerConfig;
import io.lambdadispatcher.worker.handler.DrainReason;
import io.lambdadispatcher.worker.handler.Handler;
import io.lambdadispatcher.worker.handler.Lifecycle;
import io.lambdadispatcher.worker.internal.connect.LambdaMetadata;
import io.lambdadispatcher.worker.internal.exchange.Lifecycles;
import io.lambdadispatcher.worker.snapshot.SnapshotListener;
import io.lambdadispatcher.worker.snapshot.Snapshots;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.LongSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The handler class for AWS Lambda. Each launch by the dispatcher is one invocation, which runs one
 * worker until it drains. Set the function's handler to {@code
 * io.lambdadispatcher.worker.LambdaHandler}.
 *
 * <p>Environment variables choose what it serves: the class that {@code LAMBDA_DISPATCHER_HANDLER}
 * names, the Lambda runtime that {@code LAMBDA_DISPATCHER_RUNTIME} starts, or a web application.
 * {@code docs/reference/adapters.md} describes these. A subclass can pass a handler instead:
 *
 * <pre>{@code
 * public final class Greeter extends LambdaHandler {
 *     public Greeter() {
 *         super((request, response) -> response.respond(200, "hello"));
 *     }
 * }
 * }</pre>
 *
 * <p><b>Lifecycle.</b> The handler is created once, during the function's initialisation, and
 * serves all invocations of the execution environment. A {@link Lifecycle} is started then. The
 * initialisation waits for it for at most 9.5 s, or 125 s with SnapStart, provisioned concurrency
 * and managed instances. After that, the first invocation waits. If the handler fails to start, the
 * initialisation fails or, if that is over, the process ends.
 *
 * <p><b>SnapStart.</b> With SnapStart and provisioned concurrency, the initialisation also loads
 * the classes of a worker, by connecting one to a socket of this process. So does the first
 * init-only event. A snapshot contains the handler, but no socket, thread or random number of
 * the worker, because each invocation creates its own {@link Worker}. The handler must suit
 * snapshots, too. See {@link SnapshotListener}.
 */
public class LambdaHandler implements RequestStreamHandler {
    private static final String INITIALIZATION_TYPE = "AWS_LAMBDA_INITIALIZATION_TYPE";
    private static final String ON_DEMAND = "on-demand";

    /**
     * Lambda starts an initialisation that takes over 10 s again (AWS Lambda developer guide,
     * execution environment lifecycle).
     */
    private static final long LONGEST_ON_DEMAND_MILLIS = 9_500;

    /**
     * With SnapStart, with provisioned concurrency and on managed instances it may take 130 s, or
     * the function's timeout if that is longer (same place). What is not ready by then would be
     * half started in all copies of the snapshot.
     */
    private static final long LONGEST_AHEAD_MILLIS = 125_000;

    /** What of an invoke's remaining time is left for saying that it was not enough. */
    private static final int MARGIN_MILLIS = 200;

    /** For a deadline that is over: zero would be none. */
    private static final Duration NEXT_TO_NOTHING = Duration.ofMillis(1);

    private static final int FAILED = 1;
    private static final String NETTY_EVENTS = "io.netty.jfr.enabled";

    private static final Logger log = LoggerFactory.getLogger(LambdaHandler.class);

    static {
        // Loading Netty's events for Flight Recorder is a tenth of the CPU time of a cold start.
        if (System.getProperty(NETTY_EVENTS) == null) {
            System.setProperty(NETTY_EVENTS, "false");
        }
    }

    private final Handler handler;
    private final Runnable endOfProcess;
    private final CompletableFuture<Void> started;
    private final AtomicBoolean rehearsed = new AtomicBoolean();

    /**
     * Serves what the environment variables choose.
     *
     * @throws IllegalArgumentException if they choose nothing, or something that cannot be created
     * @throws IllegalStateException if the handler fails to start during the initialisation
     */
    public LambdaHandler() {
        this(HandlerLoader.chooseOnLambda(System.getenv()));
    }

    /**
     * Serves with this handler, whatever the environment variables choose.
     *
     * @param handler serves the requests of all invocations. If it is a {@link SnapshotListener},
     *     too, it is registered
     * @throws IllegalStateException if the handler fails to start during the initialisation
     */
    protected LambdaHandler(Handler handler) {
        this(
                handler,
                () -> longestInitMillis(System.getenv()) - sinceStartOfProcessMillis(),
                () -> Runtime.getRuntime().halt(FAILED));
        if (!isOnDemand(System.getenv())) {
            rehearse();
        }
    }

    /**
     * @param initMillisLeft how long the initialisation may wait for the handler; not called if the
     *     handler starts at once
     * @param endOfProcess ends it; one of a test returns
     */
    LambdaHandler(Handler handler, LongSupplier initMillisLeft, Runnable endOfProcess) {
        this.handler = handler;
        this.endOfProcess = endOfProcess;
        if (handler.implementation() instanceof SnapshotListener listener) {
            Snapshots.ofProcess().register(listener);
        }
        this.started = Lifecycles.start(handler).toCompletableFuture();
        if (handler.implementation() instanceof Lifecycle) {
            Runtime.getRuntime().addShutdownHook(new Thread(() -> Lifecycles.stop(handler), "handler-stop"));
        }
        awaitInit(initMillisLeft);
    }

    static long longestInitMillis(Map<String, String> variables) {
        return isOnDemand(variables) ? LONGEST_ON_DEMAND_MILLIS : LONGEST_AHEAD_MILLIS;
    }

    /** Lambda's limits include the start of the JVM and the construction of the handler. */
    private static long sinceStartOfProcessMillis() {
        return ProcessHandle.current()
                .info()
                .startInstant()
                .map(start -> Duration.between(start, Instant.now()).toMillis())
                .orElse(0L);
    }

    private static boolean isOnDemand(Map<String, String> variables) {
        return variables.getOrDefault(INITIALIZATION_TYPE, ON_DEMAND).equals(ON_DEMAND);
    }

    /** Once for each environment. */
    private void rehearse() {
        if (rehearsed.compareAndSet(false, true)) {
            Rehearsal.run();
        }
    }

    private void awaitInit(LongSupplier millisLeft) {
        try {
            started.get(started.isDone() ? 0 : Math.max(0, millisLeft.getAsLong()), TimeUnit.MILLISECONDS);
        } catch (TimeoutException e) {
            // The first invoke goes on waiting.
        } catch (ExecutionException e) {
            throw new IllegalStateException(cannotStart(e), e.getCause());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private static String cannotStart(ExecutionException e) {
        return "the handler cannot start: " + PrintableText.ofFailure(e);
    }

    /**
     * Serves requests until the worker has drained, then writes its summary as JSON. Blocks the
     * calling thread. All events wait until the handler has started.
     * <ul>
     *   <li>A launch, which is an event with the members {@code workerId} and {@code addresses},
     *       runs a worker. The invocation's timeout limits its deadline.
     *   <li>An init-only event, {@code {"warmUp":true}}, returns without serving, after at most 10
     *       s.
     *   <li>Other events are passed to the handler if it is a {@link RequestStreamHandler}, too.
     * </ul>
     *
     * @throws IllegalArgumentException if the event is none of these, or a launch with a missing
     *     member or a value that is not allowed. The message names the member
     * @throws IOException if the handler has not started in time, the worker had
     *     no connection, a dispatcher rejected it before it had a request, the calling thread was
     *     interrupted, or the summary cannot be written
     */
    @Override
    public void handleRequest(InputStream input, OutputStream output, Context context) throws IOException {
        byte[] event = input.readAllBytes();
        Map<String, ?> members = Json.readTopLevel(event);
        WarmUp warmUp = WarmUp.of(members);
        long arrivedNanos = System.nanoTime();
        awaitStart(usableMillis(context));
        if (warmUp != null) {
            if (usableMillis(context) >= Rehearsal.LONGEST_MILLIS) {
                rehearse();
            }
            warmUp.hold(output, usableMillis(context));
            return;
        }
        if (handler.implementation() instanceof RequestStreamHandler ordinary && !isLaunch(members)) {
            ordinary.handleRequest(new ByteArrayInputStream(event), output, context);
            return;
        }
        if (handler.implementation() instanceof FunctionHandler function) {
            function.onInvoke(context);
        }
        WorkerConfig config = launched(event, arrivedNanos, context, System.getenv());
        WorkerSummary summary = serve(new Worker(config, handler).start());
        if (summary.refused() && summary.requests() == 0) {
            throw new IOException("worker " + summary.workerId() + " was rejected: " + summary.reason());
        }
        if (summary.connections() == 0) {
            throw new IOException(
                    "worker " + summary.workerId() + " could not reach a dispatcher: " + summary.reason());
        }
        output.write(json(summary));
    }

    static WorkerConfig launched(byte[] event, long arrivedNanos, Context context, Map<String, String> variables) {
        WorkerConfig.Builder builder = WorkerConfig.ofPayload(new String(event, StandardCharsets.UTF_8)).toBuilder();
        // Before the clocks are read, because it can take a part of a second.
        WorkerConfig config =
                builder.zone(LambdaMetadata.availabilityZone(variables)).build();
        Duration waited = Duration.ofNanos(System.nanoTime() - arrivedNanos);
        return withDeadline(config, waited, context.getRemainingTimeInMillis());
    }

    /** Tells a launch from other events by members that every launch has. */
    static boolean isLaunch(Map<String, ?> members) {
        return members.containsKey("workerId") && members.containsKey("addresses");
    }

    private static int usableMillis(Context context) {
        return Math.max(0, context.getRemainingTimeInMillis() - MARGIN_MILLIS);
    }

    private void awaitStart(int longestMillis) throws IOException {
        try {
            started.get(longestMillis, TimeUnit.MILLISECONDS);
        } catch (TimeoutException e) {
            throw new IOException("the handler cannot start: it is not ready after " + longestMillis + " ms", e);
        } catch (ExecutionException e) {
            throw startFailed(e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IOException("interrupted while the handler starts", e);
        }
    }

    /**
     * An error of the invoke alone would not do: Lambda keeps the environment, and prefers it, and
     * all further invokes would fail in it at once.
     */
    private IOException startFailed(ExecutionException e) {
        String why = cannotStart(e);
        log.error("{}. The process exits, so that Lambda replaces this environment.", WorkerMain.oneLine(why));
        log.debug("the handler cannot start", e.getCause());
        endOfProcess.run();
        return new IOException(why, e.getCause());
    }

    /**
     * The payload's counts from the event; the invoke's own end holds, whatever the payload says.
     */
    static WorkerConfig withDeadline(WorkerConfig config, Duration waited, int remainingMillis) {
        Duration left = Duration.ofMillis(remainingMillis);
        Duration own = config.deadline().isZero() ? left : config.deadline().minus(waited);
        Duration earlier = own.compareTo(left) < 0 ? own : left;
        Duration deadline = earlier.compareTo(NEXT_TO_NOTHING) < 0 ? NEXT_TO_NOTHING : earlier;
        return config.toBuilder().deadline(deadline).build();
    }

    private static WorkerSummary serve(Worker worker) throws IOException {
        try {
            return worker.done().toCompletableFuture().get();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            worker.drain(DrainReason.REQUESTED);
            throw new IOException("interrupted while serving", e);
        } catch (ExecutionException e) {
            throw new IOException("worker failed", e.getCause());
        }
    }

    private static byte[] json(WorkerSummary summary) {
        Map<String, Object> members = new LinkedHashMap<>();
        members.put("function", summary.function());
        members.put("workerId", summary.workerId());
        members.put("requests", summary.requests());
        members.put("failures", summary.failures());
        members.put("requestBytes", summary.requestBytes());
        members.put("responseBytes", summary.responseBytes());
        members.put("connections", summary.connections());
        members.put("readyMillis", summary.readyMillis());
        members.put("lifeMillis", summary.lifeMillis());
        members.put("reason", summary.reason());
        return Json.bytes(members);
    }
}
