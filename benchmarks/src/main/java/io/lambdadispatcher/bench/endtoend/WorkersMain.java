package io.lambdadispatcher.bench.endtoend;

import io.lambdadispatcher.worker.Worker;
import io.lambdadispatcher.worker.config.WorkerConfig;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;
import java.util.stream.IntStream;

/**
 * Runs many workers in one process, each with its own connections and event loop. They serve {@link
 * ResourceHandler}. The argument is the number of workers. All read the same environment variables
 * as a single worker ({@link WorkerConfig#ofEnvironment}). Prints {@code ready} when the dispatcher
 * has accepted all workers, and ends when all workers have ended.
 *
 * <p>Exit codes: 1 if a worker was rejected, 2 for a wrong argument.
 */
public final class WorkersMain {
    private static final String WORKER_ID = WorkerConfig.VARIABLE_PREFIX + "WORKER_ID";

    private WorkersMain() {}

    public static void main(String[] args) {
        if (args.length != 1 || !args[0].matches("[1-9]\\d{0,4}")) {
            System.err.println("expected one argument, a number of workers, got: " + String.join(" ", args));
            System.exit(2);
        }
        Worker[] workers = IntStream.range(0, Integer.parseInt(args[0]))
                .mapToObj(WorkersMain::newWorker)
                .toArray(Worker[]::new);
        try {
            each(workers, worker -> worker.start().ready().toCompletableFuture());
            System.out.println("ready");
            each(workers, worker -> worker.done().toCompletableFuture());
        } catch (RuntimeException e) {
            System.err.println("a worker ended: " + e);
            System.exit(1);
        }
    }

    private static Worker newWorker(int index) {
        Map<String, String> variables = new HashMap<>(System.getenv());
        variables.merge(WORKER_ID, "-" + index, String::concat);
        return new Worker(WorkerConfig.ofEnvironment(variables), new ResourceHandler());
    }

    private static void each(Worker[] workers, Function<Worker, CompletableFuture<?>> step) {
        CompletableFuture.allOf(Arrays.stream(workers).map(step).toArray(CompletableFuture[]::new))
                .join();
    }
}
