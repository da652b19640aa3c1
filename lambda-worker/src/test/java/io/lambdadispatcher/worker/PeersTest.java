package io.lambdadispatcher.worker;

import static io.lambdadispatcher.worker.ScriptedStream.get;
import static io.lambdadispatcher.worker.ScriptedStream.post;
import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.wire.testkit.Await;
import io.lambdadispatcher.wire.worker.ControlMessage;
import io.lambdadispatcher.wire.worker.ControlMessage.Drain;
import io.lambdadispatcher.wire.worker.ControlMessage.DrainCode;
import io.lambdadispatcher.wire.worker.ControlMessage.Load;
import io.lambdadispatcher.wire.worker.ControlMessage.Peers;
import io.lambdadispatcher.wire.worker.ErrorCode;
import io.lambdadispatcher.worker.config.WorkerConfig;
import io.lambdadispatcher.worker.handler.DrainReason;
import io.lambdadispatcher.worker.handler.Handler;
import io.lambdadispatcher.worker.handler.Lifecycle;
import io.lambdadispatcher.worker.handler.Request;
import io.lambdadispatcher.worker.handler.Response;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A worker of several dispatchers. */
@Timeout(180)
class PeersTest {
    /** Lets the test send its responses. */
    private static final class Holding implements Handler, Lifecycle {
        final BlockingQueue<Response> responses = new LinkedBlockingQueue<>();
        final BlockingQueue<DrainReason> drains = new LinkedBlockingQueue<>();

        @Override
        public void handle(Request request, Response response) {
            responses.add(response);
        }

        Response take() throws InterruptedException {
            return responses.poll(ScriptedDispatcher.WAIT_SECONDS, TimeUnit.SECONDS);
        }

        @Override
        public CompletionStage<Void> start() {
            return CompletableFuture.completedFuture(null);
        }

        @Override
        public CompletionStage<?> onDrain(DrainReason reason, Duration grace) {
            drains.add(reason);
            return CompletableFuture.completedFuture(null);
        }

        @Override
        public void stop() {}
    }

    private final ScriptedDispatcher one = new ScriptedDispatcher();
    private final ScriptedDispatcher other = new ScriptedDispatcher();
    private final Holding handler = new Holding();

    @AfterEach
    void close() {
        other.close();
    }

    private static String text(ScriptedDispatcher dispatcher) {
        return "127.0.0.1:" + dispatcher.address().getPort();
    }

    /** Both dispatchers say that they are a fleet. */
    private void unite() {
        one.peers = List.of(text(one), text(other));
        other.peers = List.of(text(other), text(one));
    }

    private Harness worker(UnaryOperator<WorkerConfig.Builder> change) {
        return new Harness(one, handler, change);
    }

    private Harness worker() {
        return worker(config -> config);
    }

    /** Fails if a dispatcher gets another connection within a short time. */
    private static void assertNoMoreLinks(ScriptedDispatcher dispatcher, int count) {
        Await.remains(
                count + " links",
                Duration.ofMillis(200),
                () -> dispatcher.links().size() == count);
    }

    @Test
    void should_open_all_its_connections_to_each_dispatcher() throws Exception {
        unite();
        try (Harness harness = worker(config -> config.connections(2))) {
            for (int i = 0; i < 2; i++) {
                one.takeReady();
                other.takeReady();
            }
            assertThat(one.links()
                            .get(0)
                            .takeMessage(ControlMessage.Hello.class)
                            .maxVersion())
                    .isEqualTo(2);
            assertNoMoreLinks(one, 2);
            assertNoMoreLinks(other, 2);
        }
    }

    /** No matter at which dispatcher the first connections have arrived. */
    @Test
    void should_divide_a_limit_among_the_connections_to_each_dispatcher() throws Exception {
        unite();
        try (Harness harness =
                worker(config -> WorkerConfig.builder("f", Harness.SECRET, List.of(one.address(), other.address()))
                        .plain()
                        .connections(3)
                        .streams(10))) {
            for (int i = 0; i < 3; i++) {
                one.takeReady();
                other.takeReady();
            }
            harness.worker.limit(5);
            Map<ScriptedDispatcher.Link, Integer> parts = new HashMap<>();
            for (ScriptedDispatcher dispatcher : List.of(one, other)) {
                Await.until("the parts make 5", () -> parts(dispatcher, parts).equals(List.of(1, 2, 2)));
            }
        }
    }

    /** Returns the latest limit of each connection, in ascending order. */
    private static List<Integer> parts(ScriptedDispatcher dispatcher, Map<ScriptedDispatcher.Link, Integer> latest) {
        for (ScriptedDispatcher.Link link : dispatcher.links()) {
            for (ControlMessage next = link.messages.poll(); next != null; next = link.messages.poll()) {
                if (next instanceof Load load) {
                    latest.put(link, load.requestLimit());
                }
            }
        }
        return dispatcher.links().stream()
                .map(link -> latest.getOrDefault(link, 0))
                .sorted()
                .toList();
    }

    @Test
    void should_dial_a_dispatcher_that_joins_later() throws Exception {
        try (Harness harness = worker()) {
            ScriptedDispatcher.Link link = one.takeReady();
            link.send(new Peers(List.of(text(one))));
            link.roundTrip();
            assertThat(other.links()).isEmpty();
            link.send(new Peers(List.of(text(one), text(other))));
            long sentNanos = System.nanoTime();
            other.takeReady();
            assertThat(Duration.ofNanos(System.nanoTime() - sentNanos)).isLessThan(Duration.ofSeconds(1));
            assertThat(link.closed).isEmpty();
        }
    }

    /** Each of them makes the worker dial and close connections. */
    @Test
    void should_not_follow_a_dispatcher_that_changes_the_fleet_all_the_time() throws Exception {
        try (Harness harness = worker()) {
            ScriptedDispatcher.Link link = one.takeReady();
            for (int i = 0; i < 100; i++) {
                link.send(new Peers(List.of(text(one))));
            }
            link.roundTrip();
            assertThat(link.closed).isEmpty();
            link.send(new Peers(List.of(text(one))));
            link.awaitClosed();
        }
    }

    /**
     * The configured address is that of a load balancer, which leads to a dispatcher of the fleet.
     */
    @Test
    void should_know_the_sender_by_the_address_that_it_names() throws Exception {
        one.peers = List.of(text(other));
        try (Harness harness = worker(config -> WorkerConfig.builder(
                        "f",
                        Harness.SECRET,
                        List.of(InetSocketAddress.createUnresolved(
                                "localhost", one.address().getPort())))
                .plain()
                .connections(1)
                .streams(1))) {
            // The connection to "localhost" is one to the other dispatcher, which needs no second.
            one.takeReady();
            assertNoMoreLinks(other, 0);
        }
    }

    @Test
    void should_not_dial_two_addresses_of_one_dispatcher() throws Exception {
        one.peers = List.of(text(one), "localhost:" + one.address().getPort());
        try (Harness harness = worker()) {
            one.takeReady();
            Await.until(
                    "the second is closed",
                    () -> one.links().size() > 1
                            && one.links().stream()
                                            .filter(link -> link.closed.isEmpty())
                                            .count()
                                    == 1);
            int links = one.links().size();
            assertThat(links).isLessThanOrEqualTo(3);
            assertNoMoreLinks(one, links);
        }
    }

    @Test
    void should_ignore_an_address_that_it_cannot_dial() throws Exception {
        one.peers = List.of(text(one), "nonsense", text(other));
        try (Harness harness = worker()) {
            one.takeReady();
            other.takeReady();
        }
    }

    @Test
    void should_serve_no_more_than_one_dispatcher_could_ask_for() throws Exception {
        unite();
        try (Harness harness = worker()) {
            ScriptedStream busy = one.takeReady().takeStream();
            ScriptedStream late = other.takeReady().takeStream();
            busy.request(get("/"), 0, true);
            Response response = handler.take();
            late.request(post("/"), new byte[10], false);
            assertThat(late.take(ScriptedStream.Reset.class).code()).isEqualTo(ErrorCode.BUSY);
            late.cancel(ErrorCode.NOT_NEEDED);
            late.link().roundTrip();
            late.request(get("/"), 0, true);
            assertThat(late.take(ScriptedStream.Reset.class).code()).isEqualTo(ErrorCode.BUSY);
            assertThat(handler.responses).isEmpty();

            response.respond(200, "done");
            assertThat(busy.gather().text()).isEqualTo("done");
            busy.link().roundTrip();
            late.request(get("/"), 0, true);
            handler.take().respond(200, "done");
            assertThat(late.gather().text()).isEqualTo("done");
            harness.worker.drain(DrainReason.REQUESTED);
            assertThat(harness.summary().requests()).isEqualTo(2);
            assertThat(harness.summary().failures()).isZero();
        }
    }

    /** An exchange that was in flight when the second dispatcher connected counts. */
    @Test
    void should_count_what_was_in_flight_before_it_had_peers() throws Exception {
        try (Harness harness = worker(config -> config.connections(2).streams(1))) {
            ScriptedDispatcher.Link first = one.takeReady();
            ScriptedStream busy = first.takeStream();
            one.takeReady();
            busy.request(get("/"), 0, true);
            Response response = handler.take();
            first.send(new Peers(List.of(text(one), text(other))));
            ScriptedStream last = other.takeReady().takeStream();
            ScriptedStream late = other.takeReady().takeStream();
            last.request(get("/"), 0, true);
            Response lastResponse = handler.take();
            late.request(get("/"), 0, true);
            assertThat(late.take(ScriptedStream.Reset.class).code()).isEqualTo(ErrorCode.BUSY);
            response.respond(200, "done");
            lastResponse.respond(200, "done");
            busy.gather();
            last.gather();
        }
    }

    @Test
    void should_not_say_busy_in_version_1() throws Exception {
        other.version = 1;
        one.peers = List.of(text(one), text(other));
        try (Harness harness = worker()) {
            ScriptedStream busy = one.takeReady().takeStream();
            ScriptedStream late = other.takeReady().takeStream();
            busy.request(get("/"), 0, true);
            Response response = handler.take();
            late.request(get("/"), 0, true);
            assertThat(late.take(ScriptedStream.Reset.class).code()).isEqualTo(ErrorCode.REFUSED);
            response.respond(200, "done");
            busy.gather();
        }
    }

    @Test
    void should_refuse_peers_in_version_1() throws Exception {
        one.version = 1;
        try (Harness harness = worker()) {
            ScriptedDispatcher.Link link = one.takeReady();
            link.send(new Peers(List.of(text(one), text(other))));
            link.awaitClosed();
            assertThat(other.links()).isEmpty();
        }
    }

    @Test
    void should_stay_when_one_of_several_dispatchers_shuts_down() throws Exception {
        unite();
        try (Harness harness = worker()) {
            ScriptedStream leaving = one.takeReady().takeStream();
            ScriptedDispatcher.Link staying = other.takeReady();
            leaving.request(get("/"), 0, true);
            Response response = handler.take();
            // The dispatcher has left the fleet before it shuts down.
            staying.send(new Peers(List.of(text(other))));
            leaving.link().send(new Drain(DrainCode.SHUTDOWN, 30_000));
            assertThat(leaving.link().takeMessage(Drain.class).reason()).isEqualTo(DrainCode.LEAVING);
            response.respond(200, "done");
            assertThat(leaving.gather().text()).isEqualTo("done");
            leaving.link().takeMessage(ControlMessage.Goodbye.class);
            leaving.link().awaitClosed();
            assertNoMoreLinks(one, 1);

            ScriptedStream stream = staying.takeStream();
            stream.request(get("/"), 0, true);
            handler.take().respond(200, "done");
            assertThat(stream.gather().text()).isEqualTo("done");
            assertThat(handler.drains).isEmpty();
            assertThat(staying.closed).isEmpty();
        }
    }

    @Test
    void should_leave_when_the_last_dispatcher_shuts_down() throws Exception {
        unite();
        try (Harness harness = worker()) {
            ScriptedDispatcher.Link first = one.takeReady();
            ScriptedDispatcher.Link last = other.takeReady();
            last.send(new Peers(List.of(text(other))));
            last.roundTrip();
            first.send(new Drain(DrainCode.SHUTDOWN, 1_000));
            first.awaitClosed();
            last.send(new Drain(DrainCode.SHUTDOWN, 1_000));
            assertThat(handler.drains.poll(ScriptedDispatcher.WAIT_SECONDS, TimeUnit.SECONDS))
                    .isEqualTo(DrainReason.SHUTDOWN);
        }
    }

    @Test
    void should_drain_on_all_dispatchers_when_one_drains_the_worker() throws Exception {
        unite();
        try (Harness harness = worker()) {
            ScriptedDispatcher.Link first = one.takeReady();
            ScriptedDispatcher.Link second = other.takeReady();
            first.send(new Drain(DrainCode.SCALE_IN, 1_000));
            assertThat(second.takeMessage(Drain.class).reason()).isEqualTo(DrainCode.SCALE_IN);
            second.takeMessage(ControlMessage.Goodbye.class);
            assertThat(harness.summary().reason()).isEqualTo("scale in");
            assertThat(handler.drains).containsExactly(DrainReason.SCALE_IN);
        }
    }

    @Test
    void should_redial_a_lost_dispatcher_only_as_long_as_it_is_a_peer() throws Exception {
        unite();
        try (Harness harness = worker()) {
            one.takeReady();
            ScriptedDispatcher.Link staying = other.takeReady();
            int port = one.stopListening();
            one.listenAgain(port);
            one.takeReady();
            one.stopListening();
            staying.send(new Peers(List.of(text(other))));
            staying.roundTrip();
            int links = one.links().size();
            one.listenAgain(port);
            assertNoMoreLinks(one, links);
            assertThat(staying.closed).isEmpty();
        }
    }

    /** The dispatcher behind the configured address can be another one now. */
    @Test
    void should_try_the_configured_address_again_when_no_peer_is_connected() throws Exception {
        int port = other.stopListening();
        one.peers = List.of("127.0.0.1:" + port);
        try (Harness harness = worker()) {
            one.takeReady().cut();
            one.takeReady();
        }
    }

    /** It would refuse the worker each time, several hundred times a second. */
    @Test
    void should_not_try_a_configured_address_again_soon_that_has_refused_it() throws Exception {
        int port = other.stopListening();
        one.peers = List.of("127.0.0.1:" + port);
        try (Harness harness = worker()) {
            one.takeReady();
            one.controlStatus = 403;
            one.links().get(0).cut();
            Await.until("it is tried again", () -> one.links().size() == 2);
            assertNoMoreLinks(one, 2);
        }
    }

    /** The first address leads to a dispatcher that does not know the worker. */
    @Test
    void should_try_the_next_configured_address_after_one_that_has_refused_it() throws Exception {
        ScriptedDispatcher gone = new ScriptedDispatcher();
        int port = gone.stopListening();
        one.peers = List.of("127.0.0.1:" + port);
        try (gone;
                Harness harness = worker(
                        config -> WorkerConfig.builder("f", Harness.SECRET, List.of(one.address(), other.address()))
                                .plain()
                                .connections(1)
                                .streams(1))) {
            one.takeReady();
            one.controlStatus = 403;
            one.links().get(0).cut();
            other.takeReady();
        }
    }

    @Test
    void should_end_when_all_dispatchers_refuse_it() throws Exception {
        unite();
        try (Harness harness = worker()) {
            ScriptedDispatcher.Link first = one.takeReady();
            ScriptedDispatcher.Link second = other.takeReady();
            one.controlStatus = 403;
            other.controlStatus = 403;
            first.cut();
            second.cut();
            WorkerSummary summary = harness.summary();
            assertThat(summary.refused()).isTrue();
            assertThat(summary.reason()).contains("403");
        }
    }
}
