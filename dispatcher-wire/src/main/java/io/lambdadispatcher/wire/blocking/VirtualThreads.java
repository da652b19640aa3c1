package io.lambdadispatcher.wire.blocking;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.util.concurrent.Executor;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.function.Supplier;

/** Virtual threads, which a JVM has from version 21 on. */
public final class VirtualThreads {
    private VirtualThreads() {}

    /** Returns an executor with a virtual thread for each task, or what the JVM uses instead. */
    public static Executor orElse(Supplier<? extends Executor> platformThreads) {
        try {
            return (ExecutorService) MethodHandles.publicLookup()
                    .findStatic(
                            Executors.class,
                            "newVirtualThreadPerTaskExecutor",
                            MethodType.methodType(ExecutorService.class))
                    .invoke();
        } catch (Throwable e) {
            // A JVM before 21.
            return platformThreads.get();
        }
    }
}
