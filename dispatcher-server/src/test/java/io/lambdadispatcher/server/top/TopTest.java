package io.lambdadispatcher.server.top;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.sun.net.httpserver.HttpServer;
import io.lambdadispatcher.server.admin.AdminAccess;
import io.lambdadispatcher.server.admin.AdminPages;
import io.lambdadispatcher.server.admin.AdminServer;
import io.lambdadispatcher.server.admin.Launching;
import io.lambdadispatcher.server.admin.LiveSettings;
import io.lambdadispatcher.server.admin.Readiness;
import io.lambdadispatcher.server.admin.WorkerControl;
import io.lambdadispatcher.wire.testkit.Await;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Set;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Tests the command against an admin port, and against servers that are none. */
@Timeout(60)
class TopTest {
    private static final InetSocketAddress ANY_PORT = new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);
    private static final Pattern CONTROL_SEQUENCE = Pattern.compile("\u001b\\[[?0-9]*[a-zA-Z]");

    private final StringWriter written = new StringWriter();
    private final PrintWriter out = new PrintWriter(written);
    private final FakeTerminal terminal = new FakeTerminal();
    private volatile boolean starting;
    private volatile String more = "\"workers\":[{\"id\":\"w-1\"}]";
    private volatile String name = "shop";
    private AdminServer server;

    /** What happens once the terminal shows a text. */
    private record Step(String shown, Runnable action) {}

    /** Presses q after the last step. */
    private final class FakeTerminal implements Terminal {
        final Deque<Step> steps = new ArrayDeque<>();
        final List<String> calls = new ArrayList<>();

        @Override
        public Size size() {
            return new Size(100, 30);
        }

        @Override
        public void enter() {
            calls.add("enter");
        }

        @Override
        public int key() throws IOException {
            if (steps.isEmpty()) {
                return 'q';
            }
            if (written.toString().contains(steps.element().shown())) {
                steps.remove().action().run();
            }
            Await.nanoTime(System.nanoTime() + 20_000_000); // As a terminal's read with a timeout.
            return NO_KEY;
        }

        @Override
        public void leave() {
            calls.add("leave");
        }
    }

    @BeforeEach
    void open() {
        server = open(ANY_PORT);
    }

    private AdminServer open(InetSocketAddress address) {
        try {
            return new AdminServer(
                    address,
                    new AdminPages(
                            new Readiness(),
                            new Launching(),
                            new WorkerControl(),
                            LiveSettings.NONE,
                            () -> "",
                            document -> document()),
                    new AdminAccess(Set.of(), List.of(), List.of()),
                    null,
                    protection -> {});
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @AfterEach
    void close() {
        server.close();
    }

    private byte[] document() {
        if (starting) {
            throw new IllegalStateException("the dispatcher is starting");
        }
        return ("{\"time\":\"2026-11-23T12:30:45Z\",\"functions\":[{\"name\":\"" + name + "\"}]," + more + "}")
                .getBytes(StandardCharsets.UTF_8);
    }

    private Top top(URI url) {
        return new Top(url, new AdminRequest(null, null), terminal, out, true);
    }

    private URI url() {
        return URI.create("http://127.0.0.1:" + server.address().getPort());
    }

    @Test
    void should_print_one_plain_screen() throws Exception {
        top(url()).once();

        assertThat(written.toString())
                .startsWith("Lambda Dispatcher at " + url() + ": live, 12:30:45 UTC.")
                .contains("shop", "No request waits for a worker.", "Recent launches 0")
                .doesNotContain("\u001b", "Press q");
        assertThat(terminal.calls).isEmpty();
    }

    @Test
    void should_accept_a_url_with_a_slash() throws Exception {
        top(URI.create(url() + "/")).once();

        assertThat(written.toString()).contains("shop");
    }

    @Test
    void should_draw_again_until_q_and_restore_the_terminal() throws Exception {
        terminal.steps.add(new Step("shop", () -> name = "renamed"));
        terminal.steps.add(new Step("renamed", () -> {}));

        top(url()).live();

        assertThat(written.toString())
                .startsWith("\u001b[?1049h\u001b[?25l\u001b[H")
                .contains("\u001b[1mshop\u001b[0m", "Press q to quit.")
                .endsWith("\u001b[?25h\u001b[?1049l");
        assertThat(terminal.calls).containsExactly("enter", "leave");
    }

    @Test
    void should_show_no_colours_if_they_are_off() throws Exception {
        new Top(url(), new AdminRequest(null, null), terminal, out, false).live();

        assertThat(written.toString()).contains("shop").doesNotContainPattern("\u001b\\[\\d+m");
    }

    @Test
    void should_show_nothing_that_controls_the_terminal() throws Exception {
        name = "a\\u001b]0;title\\u0007b\\u001b[2Jc\\u009b31md";

        new Top(url(), new AdminRequest(null, null), terminal, out, false).live();

        String text = CONTROL_SEQUENCE.matcher(written.toString()).replaceAll("");
        assertThat(text).contains("a?]0;title?b?[2Jc?31md").matches("[ -~\r\n]*");
        assertThat(written.toString()).doesNotContain("\u001b[2J", "\u001b]");
    }

    @Test
    void should_say_that_the_dispatcher_is_lost_and_show_it_again() throws Exception {
        int port = server.address().getPort();
        terminal.steps.add(new Step("live,", () -> server.close()));
        terminal.steps.add(new Step("The dispatcher does not answer. Trying again ...", () -> {
            name = "returned";
            server = open(new InetSocketAddress(InetAddress.getLoopbackAddress(), port));
        }));
        terminal.steps.add(new Step("returned", () -> {}));

        top(url()).live();

        assertThat(written.toString()).contains("\u001b[31mLambda Dispatcher at");
    }

    @Test
    void should_wait_while_the_dispatcher_starts() throws Exception {
        starting = true;
        terminal.steps.add(new Step("the dispatcher is starting", () -> starting = false));
        terminal.steps.add(new Step("shop", () -> {}));

        top(url()).live();

        assertThat(terminal.calls).containsExactly("enter", "leave");
    }

    @Test
    void should_keep_what_an_event_does_not_know_and_say_why() throws Exception {
        terminal.steps.add(new Step("w-1", () -> {
            name = "renamed";
            more = "\"problem\":\"an event loop is stuck\"";
        }));
        terminal.steps.add(new Step("renamed", () -> {}));

        top(url()).live();

        String last = written.toString().substring(written.toString().lastIndexOf("\u001b[H"));
        assertThat(last).contains("an event loop is stuck", "renamed", "Workers 1", "w-1");
    }

    @Test
    void should_print_a_screen_that_is_not_complete() throws Exception {
        more = "\"problem\":\"an event loop is stuck\"";

        top(url()).once();

        assertThat(written.toString()).contains("an event loop is stuck", "shop", "Workers -");
    }

    @Test
    void should_refuse_one_screen_while_the_dispatcher_starts() {
        starting = true;

        assertThatThrownBy(() -> top(url()).once())
                .isInstanceOf(TopException.class)
                .hasMessage(url() + ": the dispatcher is starting. Try again later.");
    }

    private void assertFailure(URI url, String message) {
        for (Call call : List.<Call>of(Top::once, Top::live)) {
            assertThatThrownBy(() -> call.on(top(url)))
                    .isInstanceOf(TopException.class)
                    .hasMessage(url + message);
        }
        assertThat(written.toString()).as("nothing is shown").isEmpty();
        assertThat(terminal.calls).isEmpty();
    }

    private interface Call {
        void on(Top top) throws Exception;
    }

    @Test
    void should_say_that_nobody_listens() throws IOException {
        URI closed;
        try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            closed = URI.create("http://127.0.0.1:" + socket.getLocalPort());
        }

        assertFailure(
                closed,
                "/events: cannot connect (connection refused). Set --admin-url to the admin port of a running dispatcher.");
    }

    @Test
    void should_say_that_the_host_is_not_known() {
        assertFailure(
                URI.create("http://no-such-host.invalid:9901"),
                "/events: cannot connect (unknown host). Set --admin-url to the admin port of a running dispatcher.");
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "200 | text/html | <p> | 200 with text/html. Set --admin-url to the admin port of a running dispatcher.",
                "401 | text/plain | no token | 401, \"no token\". Name the file that holds a token of"
                        + " admin.read-token-file or admin.token-file with --token-file.",
                "403 | text/plain; charset=utf-8 | host: x | 403, \"host: x\". Use an IP address, localhost or one of"
                        + " admin.hosts in --admin-url.",
                "404 | text/html | <p> | 404 with text/html. Set --admin-url to the admin port of a running dispatcher.",
                "503 | text/plain | too many viewers of the live page | 503, \"too many viewers of the live page\"."
                        + " Close another viewer, or try again later."
            })
    void should_say_what_is_wrong_with_an_answer(int status, String type, String body, String expected)
            throws Exception {
        try (Other other = new Other(status, type, body)) {
            assertFailure(other.url(), "/events: expected 200 with text/event-stream, got " + expected);
        }
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {"data: [1]", "data: {\"a\":1}", "data: no JSON", "data: {\"functions\":"})
    void should_say_that_events_are_others(String event) throws Exception {
        try (Other other = new Other(200, "text/event-stream", event + "\n\n")) {
            assertFailure(
                    other.url(),
                    "/events: expected events with the state of a dispatcher, got something else."
                            + " Set --admin-url to the admin port of a running dispatcher.");
        }
    }

    @Test
    void should_say_that_the_events_have_ended() throws Exception {
        try (Other other = new Other(200, "text/event-stream", ": no event\n")) {
            assertFailure(other.url(), "/events: the connection was lost. Try again later.");
        }
    }

    /** A server that is no dispatcher. */
    private static final class Other implements AutoCloseable {
        private final HttpServer server = HttpServer.create(ANY_PORT, 0);

        Other(int status, String type, String body) throws IOException {
            byte[] bytes = body.getBytes(StandardCharsets.UTF_8);
            server.createContext("/", exchange -> {
                exchange.getResponseHeaders().set("content-type", type);
                exchange.sendResponseHeaders(status, bytes.length);
                exchange.getResponseBody().write(bytes);
                exchange.close();
            });
            server.start();
        }

        URI url() {
            return URI.create("http://127.0.0.1:" + server.getAddress().getPort());
        }

        @Override
        public void close() {
            server.stop(0);
        }
    }
}
