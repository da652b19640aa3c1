package io.lambdadispatcher.it;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.core.request.DispatchException;
import io.lambdadispatcher.test.TestDispatcher;
import io.lambdadispatcher.worker.handler.Handler;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import java.time.Duration;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Tests a handler that often releases a buffer that it no longer owns. Each time, this costs a
 * worker stream. Other requests on its worker connection are still served.
 */
@Timeout(120)
class MisuseRateIT {
    private static final Duration TIME = Duration.ofSeconds(15);
    private static final int CALLERS = 50;

    @Test
    void should_serve_others_beside_a_handler_that_misuses_every_buffer() throws Exception {
        AtomicInteger misused = new AtomicInteger();
        Handler handler = (request, response) -> {
            if (request.path().equals("/good")) {
                response.respond(200, "good");
                return;
            }
            misused.incrementAndGet();
            ByteBuf body = ByteBufAllocator.DEFAULT.buffer().writeZero(1000);
            response.respond(new DefaultHttp2Headers().status("200"), body);
            body.release();
        };
        ExecutorService callers = Executors.newFixedThreadPool(CALLERS);
        try (TestDispatcher dispatcher = TestDispatcher.serving(handler)) {
            long end = System.nanoTime() + TIME.toNanos();
            for (int i = 0; i < CALLERS; i++) {
                callers.execute(() -> {
                    while (System.nanoTime() < end) {
                        misuse(dispatcher);
                    }
                });
            }
            int good = 0;
            while (System.nanoTime() < end) {
                assertThat(dispatcher.get("/good").status()).isEqualTo(200);
                good++;
                Thread.sleep(10); // Good requests need not be many.
            }
            callers.shutdown();
            assertThat(callers.awaitTermination(30, TimeUnit.SECONDS)).isTrue();
            dispatcher.worker().close();
            assertThat(dispatcher.worker().done().toCompletableFuture().join().connections())
                    .as("connections after %s misused and %s good requests", misused, good)
                    .isEqualTo(1);
            assertThat(misused).hasValueGreaterThan(1100);
        } finally {
            callers.shutdownNow();
        }
    }

    private static void misuse(TestDispatcher dispatcher) {
        try {
            dispatcher.get("/bad");
        } catch (DispatchException expected) {
            assertThat(expected.getMessage()).contains("handler_failed");
        }
    }
}
