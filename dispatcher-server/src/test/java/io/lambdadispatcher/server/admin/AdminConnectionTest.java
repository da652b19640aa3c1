package io.lambdadispatcher.server.admin;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.core.observe.Protection;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.embedded.EmbeddedChannel;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Time is virtual. Only {@code /health} is asked for, which needs no other thread. */
class AdminConnectionTest {
    private static final String HEALTH = "GET /health HTTP/1.1\r\nhost: localhost\r\n\r\n";

    private final List<Protection> protections = new ArrayList<>();
    private final AdminPages pages = new AdminPages(
            new Readiness(), new Launching(), new WorkerControl(), LiveSettings.NONE, () -> "", name -> new byte[0]);
    private final AdminAccess access =
            new AdminAccess(Set.of(), List.of("the-token-for-changes".getBytes(StandardCharsets.US_ASCII)), List.of());
    private final AdminConnections connections = new AdminConnections(pages, access, null, protections::add);
    private final List<EmbeddedChannel> channels = new ArrayList<>();
    private final EmbeddedChannel channel = connect();

    @AfterEach
    void close() {
        channels.forEach(EmbeddedChannel::finishAndReleaseAll);
        pages.close();
    }

    private EmbeddedChannel connect() {
        EmbeddedChannel connected = new EmbeddedChannel() {
            @Override
            protected SocketAddress remoteAddress0() {
                return new InetSocketAddress("127.0.0.1", 50000);
            }
        };
        connected.freezeTime();
        connected.pipeline().addLast(connections);
        connected.pipeline().fireChannelActive();
        channels.add(connected);
        return connected;
    }

    private static void send(EmbeddedChannel to, String bytes) {
        to.writeInbound(Unpooled.copiedBuffer(bytes, StandardCharsets.ISO_8859_1));
        to.runPendingTasks();
    }

    private static String answer(EmbeddedChannel from) {
        StringBuilder text = new StringBuilder();
        for (ByteBuf bytes = from.readOutbound(); bytes != null; bytes = from.readOutbound()) {
            text.append(bytes.toString(StandardCharsets.UTF_8));
            bytes.release();
        }
        return text.toString();
    }

    private void pass(int seconds) {
        channel.advanceTimeBy(seconds, TimeUnit.SECONDS);
        channel.runScheduledPendingTasks();
    }

    @Test
    void should_close_a_connection_on_which_no_request_arrives() {
        pass(AdminConnection.REQUEST_SECONDS - 1);
        assertThat(channel.isActive()).isTrue();
        pass(1);
        assertThat(channel.isActive()).isFalse();
    }

    @Test
    void should_close_a_connection_whose_head_is_slow() {
        send(channel, HEALTH);
        pass(AdminConnection.IDLE_SECONDS - 1);
        for (int i = 0; i < AdminConnection.REQUEST_SECONDS; i++) {
            assertThat(channel.isActive()).isTrue();
            send(channel, HEALTH.substring(i, i + 1));
            pass(1);
        }
        assertThat(channel.isActive()).isFalse();
    }

    @Test
    void should_close_a_connection_whose_body_is_slow() {
        send(channel, "POST /launching HTTP/1.1\r\nhost: localhost\r\ncontent-length: 10\r\n\r\n");
        pass(AdminConnection.REQUEST_SECONDS);

        assertThat(channel.isActive()).isFalse();
    }

    @Test
    void should_close_an_idle_connection() {
        send(channel, HEALTH);
        assertThat(answer(channel)).startsWith("HTTP/1.1 200 OK\r\n").endsWith("\r\n\r\nlive\n");

        pass(AdminConnection.IDLE_SECONDS - 1);
        send(channel, HEALTH);
        assertThat(answer(channel)).startsWith("HTTP/1.1 200 OK\r\n");
        pass(AdminConnection.IDLE_SECONDS - 1);
        assertThat(channel.isActive()).isTrue();
        pass(1);
        assertThat(channel.isActive()).isFalse();
    }

    @Test
    void should_answer_a_train_of_requests() {
        int requests = 128;
        send(channel, HEALTH.repeat(requests));

        assertThat(answer(channel).split("live\n", -1)).hasSize(requests + 1);
        assertThat(channel.isActive()).isTrue();

        send(channel, HEALTH.repeat(requests + 1));
        assertThat(channel.isActive()).as("a longer train").isFalse();
    }

    @Test
    void should_answer_a_request_that_comes_byte_by_byte() {
        for (int i = 0; i < HEALTH.length(); i++) {
            send(channel, HEALTH.substring(i, i + 1));
        }
        assertThat(answer(channel)).startsWith("HTTP/1.1 200 OK\r\n").endsWith("\r\n\r\nlive\n");
    }

    @Test
    void should_let_no_cache_keep_an_answer_and_no_browser_take_it_for_a_page() {
        send(channel, HEALTH);

        assertThat(answer(channel))
                .contains("cache-control: no-store\r\n")
                .contains("x-content-type-options: nosniff\r\n")
                .contains("content-type: text/plain; charset=utf-8\r\n");
    }

    @ParameterizedTest
    @ValueSource(strings = {"GET /health HTTP/1.0\r\n\r\n", "GET /health HTTP/1.1\r\nconnection: close\r\n\r\n"})
    void should_answer_load_balancers_under_any_name_and_close_if_they_want(String request) {
        send(channel, request);

        assertThat(answer(channel)).startsWith("HTTP/1.1 200 OK\r\n").contains("connection: close\r\n");
        assertThat(channel.isActive()).isFalse();
    }

    @ParameterizedTest
    @ValueSource(strings = {"/", "/metrics", "/launching", "/nothing"})
    void should_show_nothing_to_a_page_whose_name_resolves_to_this_machine(String path) {
        send(channel, "GET " + path + " HTTP/1.1\r\nhost: evil.example\r\n\r\n");

        assertThat(answer(channel)).startsWith("HTTP/1.1 403 Forbidden\r\n");
        assertThat(protections).containsExactly(Protection.ADMIN_REFUSED);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "POST /health HTTP/1.1\r\nhost: localhost\r\ncontent-length: 1025\r\n\r\n",
                "POST /health HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\n401\r\n"
            })
    void should_take_no_large_body(String head) {
        send(channel, head + "x".repeat(AdminConnection.MAX_BODY_BYTES + 1));

        assertThat(answer(channel)).startsWith("HTTP/1.1 413 ");
        assertThat(channel.isActive()).isFalse();
    }

    @Test
    void should_ignore_a_small_body() {
        send(
                channel,
                "GET /health HTTP/1.1\r\nhost: localhost\r\ncontent-length: 1024\r\n\r\n"
                        + "x".repeat(AdminConnection.MAX_BODY_BYTES) + HEALTH);

        assertThat(answer(channel).split("live\n", -1)).hasSize(3);
    }

    @ParameterizedTest
    @ValueSource(strings = {"/" + /* long */ "%s", "/health HTTP/1.1\r\nx: %s"})
    void should_take_no_large_head(String head) {
        send(channel, "GET " + head.replace("%s", "x".repeat(9000)) + " HTTP/1.1\r\n\r\n" + HEALTH);

        assertThat(answer(channel)).startsWith("HTTP/1.1 400 ").doesNotContain("live");
        assertThat(channel.isActive()).isFalse();
    }

    @Test
    void should_refuse_what_is_no_request() {
        send(channel, "\u0016\u0003\u0001\u0002\r\n\r\n");

        assertThat(answer(channel)).startsWith("HTTP/1.1 400 ");
        assertThat(channel.isActive()).isFalse();
    }

    @Test
    void should_close_the_oldest_idle_connection_for_a_new_one() {
        List<EmbeddedChannel> others = new ArrayList<>();
        while (others.size() < AdminConnections.MAX_CONNECTIONS - 1) {
            others.add(connect());
        }
        send(channel, HEALTH);

        EmbeddedChannel newest = connect();

        assertThat(others.get(0).isActive())
                .as("the one that was silent for the longest time")
                .isFalse();
        assertThat(channel.isActive()).isTrue();
        assertThat(others.get(1).isActive()).isTrue();
        assertThat(newest.isActive()).isTrue();
        assertThat(protections).containsExactly(Protection.ADMIN_CONNECTION_LIMIT);
    }

    private static String change(String token) {
        return "POST /launching?to=off HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer " + token + "\r\n\r\n";
    }

    /** Twice as long after each wrong token, up to 4 s, on whichever connection it comes. */
    @Test
    void should_delay_the_answer_to_each_further_wrong_token_of_a_host() {
        int[] delays = {125, 250, 500, 1000, 2000, 4000, 4000, 4000};
        for (int i = 0; i < delays.length; i++) {
            EmbeddedChannel guessing = connect();
            send(guessing, change("guess-" + i));

            guessing.advanceTimeBy(delays[i] - 1, TimeUnit.MILLISECONDS);
            guessing.runScheduledPendingTasks();
            assertThat(answer(guessing)).as("guess %d", i).isEmpty();
            guessing.advanceTimeBy(1, TimeUnit.MILLISECONDS);
            guessing.runScheduledPendingTasks();
            assertThat(answer(guessing)).as("guess %d", i).startsWith("HTTP/1.1 401 ");
        }
        send(channel, "POST /launching?to=off HTTP/1.1\r\nhost: localhost\r\n\r\n");
        assertThat(answer(channel)).as("no token is no guess").startsWith("HTTP/1.1 401 ");
    }

    /** Connections that wait after a wrong token are no reason to close an idle one. */
    @Test
    void should_first_close_connections_that_have_sent_a_wrong_token() {
        List<EmbeddedChannel> guessing = new ArrayList<>();
        while (guessing.size() < AdminConnections.MAX_CONNECTIONS - 1) {
            EmbeddedChannel other = connect();
            send(other, change("guess-" + guessing.size()));
            guessing.add(other);
        }

        connect();

        assertThat(channel.isActive()).isTrue();
        assertThat(guessing.get(0).isActive()).isFalse();
        assertThat(guessing.get(1).isActive()).isTrue();
    }

    @Test
    void should_hold_few_bytes_of_answers_that_nobody_takes() {
        assertThat(connections.answers.mayWrite(AdminConnections.MAX_UNWRITTEN_BYTES + 1))
                .as("the only one, however large it is")
                .isTrue();

        send(channel, HEALTH);
        assertThat(answer(channel)).isEmpty();
        assertThat(channel.isActive()).isFalse();

        connections.answers.wrote(AdminConnections.MAX_UNWRITTEN_BYTES + 1);
        EmbeddedChannel next = connect();
        send(next, HEALTH);
        assertThat(answer(next)).endsWith("live\n");
    }

    @Test
    void should_answer_while_viewers_take_no_events() {
        assertThat(connections.events.mayWrite(AdminConnections.MAX_UNWRITTEN_BYTES + 1))
                .isTrue();

        send(channel, HEALTH);

        assertThat(answer(channel)).endsWith("live\n");
    }
}
