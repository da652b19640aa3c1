package io.lambdadispatcher.server.status;

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
import io.lambdadispatcher.wire.testkit.EachRelease;
import io.lambdadispatcher.wire.testkit.FreePort;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.time.Clock;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests the command against an admin port, and against servers that are none. */
@EachRelease
@Timeout(60)
class StatusTest {
    private static final InetSocketAddress ANY_PORT = new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);
    private static final String CLEAR = "\u001b[H\u001b[2J";
    private static final TerminalSize FILE = new TerminalSize(80, 0);

    private final StringWriter written = new StringWriter();
    private Instant now = Instant.parse("2026-11-23T12:30:45Z");
    private TerminalSize size = FILE;
    private volatile boolean starting;
    private volatile boolean stuck;
    private volatile String name = "shop";
    private AdminServer server;

    @BeforeEach
    void open() {
        server = open(ANY_PORT);
    }

    @AfterEach
    void close() {
        server.close();
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
                            this::document),
                    new AdminAccess(Set.of(), List.of(), List.of()),
                    null,
                    protection -> {});
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private byte[] document(String document) {
        if (starting) {
            throw new IllegalStateException("the dispatcher is starting");
        }
        if (stuck && Set.of("workers", "requests").contains(document)) {
            throw new IllegalStateException("an event loop has not answered within 2 s");
        }
        String json = switch (document) {
            case "functions" -> "[{\"name\":\"" + name + "\",\"queued\":0}]";
            case "workers" -> "[{\"id\":\"w-1\",\"state\":\"ready\"}]";
            case "fleet" -> "{\"alone\":true}";
            default -> "[]";
        };
        return json.getBytes(StandardCharsets.UTF_8);
    }

    private Status status(URI url) {
        Clock clock = new Clock() {
            @Override
            public Instant instant() {
                return now;
            }

            @Override
            public ZoneId getZone() {
                return ZoneOffset.UTC;
            }

            @Override
            public Clock withZone(ZoneId zone) {
                return this;
            }
        };
        return new Status(url, new AdminRequest(null, null), () -> size, clock, new PrintWriter(written));
    }

    private URI url() {
        return URI.create("http://127.0.0.1:" + server.address().getPort());
    }

    /** Prints once before each step, and once after the last one. Two seconds pass between. */
    private void watch(Runnable... steps) throws Exception {
        Deque<Runnable> left = new ArrayDeque<>(List.of(steps));
        status(url()).watch(() -> {
            now = now.plus(Duration.ofSeconds(2));
            if (left.isEmpty()) {
                return false;
            }
            left.remove().run();
            return true;
        });
    }

    private String at(String time, String function) {
        return "Lambda Dispatcher at " + url() + ", " + time
                + " UTC\n\nFUNCTION  QUEUED  REQ/S  FAIL/S  5XX/S  BUSY  READY\n" + function
                + "           0      0       0      0   0/0    0/0\n\nWORKER  STATE  BUSY\nw-1     ready   0/0\n";
    }

    @Test
    void should_print_what_the_dispatcher_says() throws Exception {
        status(url()).print();

        assertThat(written).hasToString(at("12:30:45", "shop"));
    }

    @Test
    void should_print_again_below_if_the_output_is_no_terminal() throws Exception {
        watch(() -> name = "shed", () -> name = "ship");

        assertThat(written)
                .hasToString(
                        at("12:30:45", "shop") + '\n' + at("12:30:47", "shed") + '\n' + at("12:30:49", "ship") + '\n');
    }

    @Test
    void should_clear_a_terminal_and_print_again_as_wide_as_it_is() throws Exception {
        size = new TerminalSize(80, 24);
        watch(() -> size = new TerminalSize(20, 24));

        assertThat(written.toString())
                .startsWith(CLEAR + at("12:30:45", "shop") + CLEAR + "Lambda Dispatcher at\nhttp://127.0.0.1:")
                .contains("\nFUNCTION  QUEUED\nshop           0\n");
    }

    @Test
    void should_print_only_lines_that_a_terminal_has() throws Exception {
        size = new TerminalSize(80, 6);
        watch();

        assertThat(written)
                .hasToString(CLEAR + at("12:30:45", "shop").lines().limit(5).reduce("", (a, b) -> a + b + '\n'));
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 24})
    void should_survive_a_restart_and_say_once_since_when_there_is_no_answer(int rows) throws Exception {
        size = new TerminalSize(80, rows);
        String clear = rows == 0 ? "" : CLEAR;
        int port = server.address().getPort();
        String end = rows == 0 ? "\n" : "";
        String first = clear + at("12:30:45", "shop") + end;
        String second = clear + at("12:30:47", "shop") + end;
        String last = clear + at("12:30:55", "back") + end;
        String failure = "No status since 12:30:47 UTC: cannot connect (connection refused)\n";

        watch(
                () -> {},
                () -> server.close(),
                () -> {},
                () -> {
                    server = open(new InetSocketAddress(InetAddress.getLoopbackAddress(), port));
                    starting = true;
                },
                () -> {
                    starting = false;
                    name = "back";
                });

        assertThat(written).hasToString(first + second + failure + last);
    }

    @Test
    void should_say_of_each_restart_since_when_there_is_no_answer() throws Exception {
        watch(() -> starting = true, () -> starting = false, () -> starting = true);

        assertThat(written.toString())
                .containsSubsequence("No status since 12:30:45 UTC: ", "No status since 12:30:49 UTC: ");
    }

    @Test
    void should_print_the_rest_while_an_event_loop_is_stuck() throws Exception {
        stuck = true;

        status(url()).print();

        assertThat(written.toString())
                .contains(
                        "\nWARNING\n/api/workers: expected 200 with a document of a dispatcher, got 503, \"an event\n"
                                + "loop has not answered within 2 s\"\n/api/requests: ",
                        "\nFUNCTION  QUEUED")
                .doesNotContain("w-1");
    }

    private void assertFailure(URI url, String message) {
        for (Call call : List.<Call>of(Status::print, status -> status.watch(() -> true))) {
            assertThatThrownBy(() -> call.on(status(url)))
                    .isInstanceOf(AdminException.class)
                    .hasMessage(url + "/api/functions: " + message);
        }
        assertThat(written.toString()).as("nothing is shown").isEmpty();
    }

    private interface Call {
        void on(Status status) throws Exception;
    }

    @Test
    void should_say_that_the_dispatcher_starts() {
        starting = true;

        assertFailure(
                url(),
                "expected 200 with a document of a dispatcher, got 503, \"the dispatcher is starting\". Try again later.");
    }

    @Test
    void should_say_that_nobody_listens() {
        URI closed = URI.create("http://127.0.0.1:" + FreePort.next());

        assertFailure(
                closed,
                "cannot connect (connection refused). Set --admin-url to the admin port of a running dispatcher.");
    }

    @Test
    void should_say_that_the_host_is_not_known() {
        assertFailure(
                URI.create("http://no-such-host.invalid:9901"),
                "cannot connect (unknown host). Set --admin-url to the admin port of a running dispatcher.");
    }

    /** Its machine may be gone, so no FIN and no RST ever comes. */
    @Test
    void should_not_wait_for_the_rest_of_an_answer_that_never_comes() throws Exception {
        try (ServerSocket listener = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            Thread half = new Thread(() -> {
                try (Socket socket = listener.accept()) {
                    socket.getOutputStream()
                            .write("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n[{"
                                    .getBytes(StandardCharsets.US_ASCII));
                    while (socket.getInputStream().read() >= 0) {
                        // The request, and then what comes until the client gives up.
                    }
                } catch (IOException e) {
                    // The client has given up.
                }
            });
            half.start();
            URI url = URI.create("http://127.0.0.1:" + listener.getLocalPort());

            assertThatThrownBy(() -> status(url).print())
                    .isInstanceOf(AdminException.class)
                    .hasMessageStartingWith(url + "/api/functions: no answer within 5 s. ");
            half.join();
        }
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "200 | text/html | <p> | 200 with text/html. Set --admin-url to the admin port of a running dispatcher.",
                "200 | application/json | {} | 200 with application/json. Set --admin-url to the admin port of a running"
                        + " dispatcher.",
                "401 | text/plain | no token | 401, \"no token\". Name the file that holds a token of"
                        + " admin.read-token or admin.token with --token-file.",
                "403 | text/plain; charset=utf-8 | host: \u001b[2J | 403, \"host: \\u001b[2J\". Use an IP address, localhost"
                        + " or one of admin.allowed-hosts in --admin-url.",
                "404 | text/html | <p> | 404 with text/html. Set --admin-url to the admin port of a running dispatcher."
            })
    void should_say_what_is_wrong_with_an_answer(int status, String type, String body, String expected)
            throws Exception {
        try (Other other = new Other(status, type, body)) {
            assertFailure(other.url(), "expected 200 with a document of a dispatcher, got " + expected);
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
