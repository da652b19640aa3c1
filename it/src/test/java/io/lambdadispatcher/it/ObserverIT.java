package io.lambdadispatcher.it;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.core.observe.ClientProtocol;
import io.lambdadispatcher.core.observe.DispatcherObserver;
import io.lambdadispatcher.core.observe.ExchangeEnd;
import io.lambdadispatcher.core.observe.ExchangeListener;
import io.lambdadispatcher.core.observe.ExchangeStart;
import io.lambdadispatcher.core.observe.ExtraAttempt;
import io.lambdadispatcher.core.observe.Outcome;
import io.lambdadispatcher.core.request.DispatchRequest;
import io.lambdadispatcher.core.request.DispatchResponse;
import io.lambdadispatcher.core.spi.RouteTarget;
import io.lambdadispatcher.worker.Worker;
import io.lambdadispatcher.worker.config.WorkerConfig;
import java.lang.reflect.Method;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.net.http.HttpClient.Version;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Tests the events of requests that a program's observer receives, from which it can create spans
 * and correlated log lines.
 */
@Timeout(60)
class ObserverIT {
    private record Seen(
            @Nullable String function,
            ClientProtocol protocol,
            @Nullable SocketAddress remote,
            String trace,
            Map<String, Object> told,
            ExchangeEnd end) {}

    private final BlockingQueue<Seen> seen = new LinkedBlockingQueue<>();
    private final List<Seen> earlier = new ArrayList<>();

    private final DispatcherObserver observer = new DispatcherObserver() {
        @Override
        public ExchangeListener onExchangeStart(ExchangeStart start) {
            String trace = String.valueOf(start.headers().get("traceparent"));
            String function = start.function();
            ClientProtocol protocol = start.protocol();
            SocketAddress remote = start.remoteAddress();
            return end -> seen.add(new Seen(function, protocol, remote, trace, values(end), end.copy()));
        }
    };

    /** Returns what the methods of the interface return, also of one that someone adds later. */
    private static Map<String, Object> values(ExchangeEnd end) {
        Map<String, Object> values = new TreeMap<>();
        for (Method method : ExchangeEnd.class.getMethods()) {
            if (method.getParameterCount() == 0 && !method.getName().equals("copy")) {
                try {
                    values.put(method.getName(), method.invoke(end));
                } catch (ReflectiveOperationException e) {
                    throw new AssertionError(e);
                }
            }
        }
        for (ExtraAttempt reason : ExtraAttempt.values()) {
            values.put(reason.token(), end.extraAttempts(reason));
        }
        return values;
    }

    /** Throws in its methods. The other observers are called even so. */
    private static final class Faulty implements DispatcherObserver {
        private boolean started;

        @Override
        public ExchangeListener onExchangeStart(ExchangeStart start) {
            started = !started;
            if (started) {
                throw new IllegalStateException("no start");
            }
            return end -> {
                throw new IllegalStateException("no end");
            };
        }
    }

    private final Rig rig = Rig.start(
            Rig.function().build(),
            new Faulty(),
            builder -> builder.observer(observer)
                    .observer(observer)
                    .router(head -> head.path().toString().equals("/lost") ? null : RouteTarget.of("demo")));

    private final Worker worker = new Worker(
                    WorkerConfig.of("demo", Rig.SECRET, rig.dispatcher.workerAddress()).toBuilder()
                            .plain()
                            .workerId("w-1")
                            .build(),
                    (request, response) -> response.respond(200, "hello"))
            .start();

    @AfterEach
    void close() throws Exception {
        worker.close();
        rig.close();
    }

    private Seen fetch(Version version, String path) throws Exception {
        rig.client(version)
                .send(
                        HttpRequest.newBuilder(rig.https(path))
                                .header("traceparent", "t-1")
                                .build(),
                        BodyHandlers.ofString());
        return next();
    }

    /**
     * Returns the next event. It arrives twice, because the observer is registered twice. The
     * copies of earlier events must not have changed since.
     */
    private Seen next() throws InterruptedException {
        Seen first = seen.poll(10, TimeUnit.SECONDS);
        Seen second = seen.poll(10, TimeUnit.SECONDS);
        assertThat(second).usingRecursiveComparison().ignoringFields("end").isEqualTo(first);
        earlier.add(first);
        earlier.add(second);
        for (Seen each : earlier) {
            assertThat(values(each.end)).isEqualTo(each.told);
        }
        return first;
    }

    @Test
    void should_hear_of_the_start_and_the_end_over_each_protocol() throws Exception {
        for (Version version : Version.values()) {
            Seen http = fetch(version, "/a?b=c");
            assertThat(http.function).isEqualTo("demo");
            assertThat(http.protocol)
                    .isEqualTo(version == Version.HTTP_2 ? ClientProtocol.HTTP_2 : ClientProtocol.HTTP_1);
            assertThat(((InetSocketAddress) http.remote).getAddress().isLoopbackAddress())
                    .isTrue();
            assertThat(http.trace).isEqualTo("t-1");
            assertThat(http.end.status()).isEqualTo(200);
            assertThat(http.end.workerId()).isEqualTo("w-1");
            assertThat(http.end.path().toString()).isEqualTo("/a?b=c");
            assertThat(http.end.responseBytes()).isEqualTo(5);
        }
        String answer = rig.dispatcher
                .dispatch(
                        DispatchRequest.get("/own").header("traceparent", "t-2").build())
                .thenCompose(DispatchResponse::bodyAsString)
                .toCompletableFuture()
                .get(10, TimeUnit.SECONDS);
        assertThat(answer).isEqualTo("hello");
        Seen own = next();
        assertThat(own.protocol).isEqualTo(ClientProtocol.EMBEDDED);
        assertThat(own.remote).isNull();
        assertThat(own.trace).isEqualTo("t-2");
        assertThat(own.end.outcome()).isEqualTo(Outcome.COMPLETED);
    }

    @Test
    void should_hear_of_a_request_that_no_function_serves() throws Exception {
        Seen lost = fetch(Version.HTTP_1_1, "/lost");
        assertThat(lost.function).isNull();
        assertThat(lost.protocol).isEqualTo(ClientProtocol.HTTP_1);
        assertThat(lost.end.status()).isEqualTo(404);
        assertThat(lost.end.failure()).isEqualTo("no_function");
    }
}
