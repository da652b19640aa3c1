package io.lambdadispatcher.bench.endtoend;

import io.lambdadispatcher.worker.Worker;
import io.lambdadispatcher.worker.config.WorkerConfig;
import io.netty.channel.IoEventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.epoll.EpollIoHandler;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;
import java.util.stream.IntStream;

/**
 * Runs many workers in one process, on one event loop. They serve {@link ResourceHandler}. The
 * argument is the number of workers. All read the same environment variables as a single worker
 * ({@link WorkerConfig#ofEnvironment}). Prints {@code ready} when the dispatcher has accepted all
 * workers, and ends when all workers have ended.
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
        IoEventLoopGroup loop = new MultiThreadIoEventLoopGroup(1, EpollIoHandler.newFactory());
        Worker[] workers = IntStream.range(0, Integer.parseInt(args[0]))
                .mapToObj(index -> newWorker(index, loop))
                .toArray(Worker[]::new);
        try {
            each(workers, worker -> worker.start().ready().toCompletableFuture());
            System.out.println("ready");
            each(workers, worker -> worker.done().toCompletableFuture());
        } catch (RuntimeException e) {
            System.err.println("a worker ended: " + e);
            System.exit(1);
        }
        loop.shutdownGracefully();
    }

    private static Worker newWorker(int index, IoEventLoopGroup loop) {
        Map<String, String> variables = new HashMap<>(System.getenv());
        variables.merge(WORKER_ID, "-" + index, String::concat);
        return Worker.onLoops(WorkerConfig.ofEnvironment(variables), new ResourceHandler(), loop);
    }

    private static void each(Worker[] workers, Function<Worker, CompletableFuture<?>> step) {
        CompletableFuture.allOf(Arrays.stream(workers).map(step).toArray(CompletableFuture[]::new))
                .join();
    }
}
