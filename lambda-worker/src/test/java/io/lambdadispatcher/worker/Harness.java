package io.lambdadispatcher.worker;

import io.lambdadispatcher.worker.config.Credential;
import io.lambdadispatcher.worker.config.WorkerConfig;
import io.lambdadispatcher.worker.handler.DrainReason;
import io.lambdadispatcher.worker.handler.Handler;
import io.lambdadispatcher.worker.handler.Lifecycle;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.UnpooledByteBufAllocator;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.UnaryOperator;

/** A worker that is connected to a scripted dispatcher. */
public final class Harness implements AutoCloseable {
    public static final Credential SECRET = new Credential.Secret("0123456789abcdef0123456789abcdef");

    private static final Queue<String> LEAKS = new ConcurrentLinkedQueue<>();

    static {
        ByteBufUtil.setLeakListener((resourceType, records) -> LEAKS.add(resourceType + " " + records));
    }

    public final ScriptedDispatcher dispatcher;
    public final Worker worker;

    public Harness(Handler handler) {
        this(handler, config -> config);
    }

    public Harness(Handler handler, UnaryOperator<WorkerConfig.Builder> change) {
        this(new ScriptedDispatcher(), handler, change);
    }

    public Harness(ScriptedDispatcher dispatcher, Handler handler, UnaryOperator<WorkerConfig.Builder> change) {
        this.dispatcher = dispatcher;
        WorkerConfig.Builder config = WorkerConfig.builder("f", SECRET, List.of(dispatcher.address()))
                .workerId("w1")
                .plain()
                .connections(1)
                .streams(1);
        // Handlers that are lambdas may get tunnels in tests.
        Handler asked = handler instanceof Lifecycle ? handler : Handler.withTunnels(handler);
        this.worker = new Worker(change.apply(config).build(), asked).start();
    }

    public ScriptedStream stream() throws InterruptedException {
        return dispatcher.takeReady().takeStream();
    }

    public WorkerSummary summary() throws Exception {
        return worker.done().toCompletableFuture().get(ScriptedDispatcher.WAIT_SECONDS, TimeUnit.SECONDS);
    }

    @Override
    public void close() {
        try {
            worker.drain(DrainReason.REQUESTED);
            dispatcher.links().forEach(ScriptedDispatcher.Link::cut);
            summary();
        } catch (Exception e) {
            throw new AssertionError("worker did not end", e);
        } finally {
            dispatcher.close();
        }
        verifyNothingLeaked();
    }

    /**
     * Fails if a buffer was lost. A loss is found when the buffer's memory has been collected and
     * another buffer is allocated, in this test or a later one.
     */
    private static void verifyNothingLeaked() {
        System.gc();
        UnpooledByteBufAllocator.DEFAULT.directBuffer(1).release();
        if (!LEAKS.isEmpty()) {
            throw new AssertionError("buffers were lost: " + LEAKS);
        }
    }
}
