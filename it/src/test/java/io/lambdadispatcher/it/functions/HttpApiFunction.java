package io.lambdadispatcher.it.functions;

import com.amazonaws.services.lambda.runtime.Context;
import com.amazonaws.services.lambda.runtime.RequestHandler;
import com.amazonaws.services.lambda.runtime.events.APIGatewayV2HTTPEvent;
import com.amazonaws.services.lambda.runtime.events.APIGatewayV2HTTPResponse;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/** Echoes events of an HTTP API or a function URL. Some paths wait or fail. */
public class HttpApiFunction implements RequestHandler<APIGatewayV2HTTPEvent, APIGatewayV2HTTPResponse> {
    /** Number of calls of {@code /together} that wait for each other. */
    public static final int TOGETHER = 80;

    private static final AtomicInteger INSTANCES = new AtomicInteger();

    private final int instance = INSTANCES.incrementAndGet();
    private final AtomicInteger running = new AtomicInteger();
    private final AtomicInteger most = new AtomicInteger();
    private final CountDownLatch together = new CountDownLatch(TOGETHER);
    private final Queue<String> log = new ConcurrentLinkedQueue<>();

    @Override
    public APIGatewayV2HTTPResponse handleRequest(APIGatewayV2HTTPEvent event, Context context) {
        most.accumulateAndGet(running.incrementAndGet(), Math::max);
        try {
            return switch (event.getRawPath()) {
                case "/throw" -> throw new IllegalStateException("boom");
                case "/malformed" -> text("x", 99);
                case "/forever" -> waitFor(new CountDownLatch(1), event);
                case "/slow" -> waitFor(300);
                case "/together" -> meet();
                case "/log" -> text(String.join(",", log), 200);
                case "/facts" -> text(instance + " " + most + " " + context.getRemainingTimeInMillis(), 200);
                default -> echo(event);
            };
        } finally {
            running.decrementAndGet();
        }
    }

    private APIGatewayV2HTTPResponse waitFor(CountDownLatch latch, APIGatewayV2HTTPEvent event) {
        String who = event.getRawQueryString();
        log.add(who + " waits");
        try {
            latch.await();
        } catch (InterruptedException e) {
            log.add(who + " interrupted");
        }
        return text("late", 200);
    }

    private APIGatewayV2HTTPResponse waitFor(int millis) {
        try {
            TimeUnit.MILLISECONDS.sleep(millis); // A handler that blocks its thread.
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        return text("slow", 200);
    }

    private APIGatewayV2HTTPResponse meet() {
        together.countDown();
        try {
            return text(together.await(60, TimeUnit.SECONDS) ? "together" : "alone", 200);
        } catch (InterruptedException e) {
            return text("interrupted", 200);
        }
    }

    private static APIGatewayV2HTTPResponse text(String text, int status) {
        return APIGatewayV2HTTPResponse.builder()
                .withStatusCode(status)
                .withHeaders(Map.of("content-type", "text/plain"))
                .withBody(text)
                .build();
    }

    private static APIGatewayV2HTTPResponse echo(APIGatewayV2HTTPEvent event) {
        Map<String, String> headers = event.getHeaders();
        return APIGatewayV2HTTPResponse.builder()
                .withStatusCode(Integer.parseInt(headers.getOrDefault("x-status", "200")))
                .withHeaders(Map.of(
                        "content-type", headers.getOrDefault("content-type", "text/plain"),
                        "x-list", headers.getOrDefault("x-list", "")))
                .withCookies(event.getCookies() == null ? List.of() : event.getCookies())
                .withBody(event.getBody())
                .withIsBase64Encoded(event.getIsBase64Encoded())
                .build();
    }
}
