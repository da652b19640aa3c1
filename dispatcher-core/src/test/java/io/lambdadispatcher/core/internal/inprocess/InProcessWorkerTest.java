package io.lambdadispatcher.core.internal.inprocess;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.core.internal.pool.FunctionPool;
import io.lambdadispatcher.core.internal.pool.SilentClient;
import io.lambdadispatcher.core.internal.worker.WorkerEvents;
import io.lambdadispatcher.core.observe.DispatcherObserver;
import io.lambdadispatcher.core.observe.WorkerKind;
import io.lambdadispatcher.core.options.FunctionOptions;
import io.lambdadispatcher.core.request.DispatchResponse;
import io.lambdadispatcher.wire.testkit.Await;
import io.lambdadispatcher.wire.worker.ControlMessage.Load;
import io.netty.buffer.ByteBuf;
import io.netty.channel.EventLoop;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.nio.NioIoHandler;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.Http2Headers;
import java.lang.reflect.Proxy;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executor;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class InProcessWorkerTest {
    private final EventLoopGroup loops = new MultiThreadIoEventLoopGroup(1, NioIoHandler.newFactory());
    private final EventLoop loop = loops.next();
    private final BlockingQueue<Load> loads = new LinkedBlockingQueue<>();
    private final InProcessWorker worker = new InProcessWorker(
            new FunctionPool(FunctionOptions.of("f"), List.of(loop), DispatcherObserver.NONE),
            new InProcessBase(
                    (stream, head, end, timeoutMillis) -> {
                        throw new AssertionError("nothing is sent");
                    },
                    10),
            (WorkerEvents) Proxy.newProxyInstance(
                    WorkerEvents.class.getClassLoader(), new Class<?>[] {WorkerEvents.class}, (proxy, method, of) -> {
                        assertThat(method.getName()).isEqualTo("onLoad");
                        loads.add((Load) of[1]);
                        return null;
                    }),
            DispatcherObserver.NONE);

    @AfterEach
    void end() {
        loops.shutdownGracefully(0, 0, TimeUnit.SECONDS).syncUninterruptibly();
    }

    /** Handlers that use all processors delay the event loops of the dispatcher. */
    @Test
    void should_report_how_late_an_event_loop_is_and_how_full_the_heap() throws Exception {
        CountDownLatch busy = new CountDownLatch(1);
        loop.execute(() -> {
            try {
                busy.await();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        });
        worker.look();
        assertThat(loads.poll(300, TimeUnit.MILLISECONDS)).isNull();
        busy.countDown();
        Load load = loads.poll(20, TimeUnit.SECONDS);
        assertThat(load).isNotNull();
        assertThat(load.loopLagMicros()).isGreaterThan(290_000);
        assertThat(load.memoryPermille()).isBetween(1, 1000);
        assertThat(load.cpuPermille()).isNotNegative();
    }

    /** So that other workers come first. */
    @Test
    void should_count_a_request_as_failed_for_which_there_is_no_thread() {
        Executor none = task -> {
            throw new RejectedExecutionException("for the test");
        };
        FunctionPool pool = new FunctionPool(FunctionOptions.of("f"), List.of(loop), DispatcherObserver.NONE);
        InProcessSlots slots = new InProcessSlots(
                pool.shard(0),
                "w",
                (stream, head, end, timeoutMillis) ->
                        new ThreadCall(stream, (request, response) -> {}, none, head, end, timeoutMillis),
                () -> {});
        loop.submit(() -> {
                    slots.open(1, WorkerKind.BASE);
                    Http2Headers head = new DefaultHttp2Headers()
                            .method("GET")
                            .scheme("http")
                            .path("/");
                    pool.shard(0).open(head, true, new SilentClient());
                })
                .syncUninterruptibly();
        Await.until("it has failed", () -> pool.inspectWorkers().join().get("w").failed() > 0);
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void should_serve_the_next_request_after_an_end_that_could_not_be_passed_on(boolean never) {
        InProcessBase base = never
                ? InProcessBase.of(
                        request -> CompletableFuture.completedStage(DispatchResponse.of(200, Map.of(), new byte[0])), 1)
                : InProcessBase.of((request, response) -> response.respond(200, "x"), 1);
        FunctionPool pool = new FunctionPool(FunctionOptions.of("f"), List.of(loop), DispatcherObserver.NONE);
        InProcessSlots slots = new InProcessSlots(pool.shard(0), "w", base.calls(), () -> {});
        CompletableFuture<Boolean> served = new CompletableFuture<>();
        SilentClient broken = new SilentClient() {
            @Override
            public void onData(ByteBuf data, boolean end) {
                data.release();
                if (end) {
                    throw new IllegalStateException("for the test");
                }
            }
        };
        SilentClient next = new SilentClient() {
            @Override
            public void onHead(Http2Headers head, boolean end) {
                served.complete(true);
            }
        };
        loop.submit(() -> {
                    slots.open(1, WorkerKind.BASE);
                    for (SilentClient client : List.of(broken, next)) {
                        Http2Headers head = new DefaultHttp2Headers()
                                .method("GET")
                                .scheme("http")
                                .authority("a")
                                .path("/");
                        pool.shard(0).open(head, true, client);
                    }
                })
                .syncUninterruptibly();
        assertThat(served).succeedsWithin(20, TimeUnit.SECONDS);
    }
}
