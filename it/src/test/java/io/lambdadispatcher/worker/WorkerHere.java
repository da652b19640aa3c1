package io.lambdadispatcher.worker;

import io.lambdadispatcher.worker.config.WorkerConfig;
import io.lambdadispatcher.worker.handler.Handler;
import io.lambdadispatcher.worker.internal.exchange.Lifecycles;
import java.util.Map;

/** A worker in this JVM that environment variables configure, as they do {@link WorkerMain}. */
public final class WorkerHere implements AutoCloseable {
    private final Handler handler;
    private final Worker worker;

    private WorkerHere(Map<String, String> variables) {
        handler = HandlerLoader.choose(variables);
        worker = new Worker(WorkerConfig.ofEnvironment(variables), handler);
        worker.start();
    }

    /** Starts a worker, which connects on other threads. */
    public static WorkerHere start(Map<String, String> variables) {
        return new WorkerHere(variables);
    }

    @Override
    public void close() {
        worker.close();
        Lifecycles.stop(handler);
    }
}
