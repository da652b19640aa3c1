package com.example;

import io.lambdadispatcher.core.Dispatcher;
import io.lambdadispatcher.core.options.FunctionOptions;
import io.lambdadispatcher.core.options.ListenerOptions;
import io.lambdadispatcher.worker.Worker;
import io.lambdadispatcher.worker.config.WorkerConfig;

public final class Hello {
    private static final String SECRET = "take-32-random-bytes-for-this";

    public static void main(String[] args) {
        Dispatcher dispatcher = Dispatcher.builder()
                .function(FunctionOptions.of("hello"))
                .publicListener(ListenerOptions.plain("127.0.0.1", 8080)) // clients
                .workerListener(ListenerOptions.workers("127.0.0.1", 8444)) // workers dial in here
                .secret(SECRET) // authenticates workers
                .start();

        // In production, the worker is another process, or an AWS Lambda function.
        WorkerConfig config = WorkerConfig.of("hello", SECRET, dispatcher.workerAddress());
        Worker worker = new Worker(config, (request, response) -> response.respond(200, "hello\n")).start();

        Runtime.getRuntime().addShutdownHook(new Thread(() -> {
            worker.close();
            dispatcher.close();
        }));
    }
}
