package io.lambdadispatcher.bench.lambda;

import com.amazonaws.services.lambda.runtime.RequestStreamHandler;
import io.lambdadispatcher.bench.workload.Database;
import io.lambdadispatcher.bench.workload.Wait;
import io.lambdadispatcher.bench.workload.WorkloadHandler;
import io.lambdadispatcher.worker.LambdaHandler;
import io.lambdadispatcher.worker.handler.Handler;
import java.net.URI;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;

/**
 * Imitates AWS Lambda on loopback, with functions that serve the published scenarios.
 *
 * <p>Arguments have the form {@code name=value}:
 *
 * <ul>
 *   <li>{@code port}
 *   <li>{@code cold-start-millis} and {@code s3-millis}: medians of simulated waits
 *   <li>{@code database} and {@code certificate}: the database's address, and the PEM file to trust
 *   <li>any other name is a function, either {@code name=worker,environments,timeoutMillis} or
 *       {@code name=event,environments,timeoutMillis}. An invocation of the first kind is a worker
 *       that connects to the dispatcher. The second kind is invoked once for each request.
 * </ul>
 *
 * <p>Runs until it is killed. Exit code 2 means a wrong argument.
 */
public final class LambdaMain {
    private static final double COLD_START_SIGMA = 0.1;
    private static final double S3_SIGMA = 0.3;

    private final Map<String, String> settings = new HashMap<>();
    private final ScheduledThreadPoolExecutor timer = new ScheduledThreadPoolExecutor(1, task -> {
        Thread thread = new Thread(task, "timer");
        thread.setDaemon(true);
        return thread;
    });

    private LambdaMain(String[] args) {
        for (String arg : args) {
            int equals = arg.indexOf('=');
            if (equals < 1) {
                throw new IllegalArgumentException("'" + arg + "', expected name=value");
            }
            settings.put(arg.substring(0, equals), arg.substring(equals + 1));
        }
        timer.setRemoveOnCancelPolicy(true);
    }

    public static void main(String[] args) throws InterruptedException {
        try {
            new LambdaMain(args).run();
        } catch (IllegalArgumentException e) {
            System.err.println("lambda: " + e.getMessage());
            System.exit(2);
        }
    }

    private void run() throws InterruptedException {
        int port = Integer.parseInt(take("port", "0"));
        Wait coldStart = wait("cold-start-millis", COLD_START_SIGMA);
        Wait s3 = wait("s3-millis", S3_SIGMA);
        String database = take("database", "");
        Path certificate = Path.of(take("certificate", ""));
        Supplier<Handler> handlers = () -> new WorkloadHandler(
                s3, database.isEmpty() ? Database.none() : new Database(URI.create(database), certificate));
        List<LambdaFunction> functions = new ArrayList<>();
        settings.forEach((name, value) -> functions.add(function(name, value, coldStart, handlers)));
        LambdaServer.start(port, functions).closeFuture().sync();
    }

    private String take(String name, String byDefault) {
        String value = settings.remove(name);
        return value == null ? byDefault : value;
    }

    private Wait wait(String name, double sigma) {
        return new Wait(Double.parseDouble(take(name, "0")), sigma);
    }

    private LambdaFunction function(String name, String value, Wait coldStart, Supplier<Handler> handlers) {
        String[] parts = value.split(",");
        if (parts.length != 3) {
            throw new IllegalArgumentException(
                    "function " + name + ": '" + value + "', expected worker or event, environments, timeoutMillis");
        }
        LambdaFunction.Limits limits = new LambdaFunction.Limits(Integer.parseInt(parts[1]), Long.parseLong(parts[2]));
        Supplier<RequestStreamHandler> code = switch (parts[0]) {
            case "worker" -> () -> new WorkerFunction(handlers.get());
            case "event" -> () -> new EventFunction(handlers.get(), timer);
            default ->
                throw new IllegalArgumentException(
                        "function " + name + ": '" + parts[0] + "', expected worker or event");
        };
        ColdStart sleep = () -> TimeUnit.NANOSECONDS.sleep(coldStart.nextNanos());
        return new LambdaFunction(name, limits, sleep, code, timer);
    }

    /**
     * Lambda's entry point of the worker library, with a given handler instead of a loaded class.
     */
    private static final class WorkerFunction extends LambdaHandler {
        WorkerFunction(Handler handler) {
            super(handler);
        }
    }
}
