package io.lambdadispatcher.server;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import picocli.CommandLine;

/** The commands that change a running dispatcher, against a server that answers as told. */
class ChangeCommandTest {
    private static final String TOKEN = "0123456789abcdef";

    @TempDir
    Path directory;

    private final StringWriter out = new StringWriter();
    private final StringWriter err = new StringWriter();
    private final List<String> requests = new ArrayList<>();
    private HttpServer server;
    private int status = 200;
    private String answer = "{\"workers\":[]}";

    @BeforeEach
    void open() throws IOException {
        server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        server.createContext("/", exchange -> {
            requests.add(exchange.getRequestMethod() + " " + exchange.getRequestURI() + " "
                    + exchange.getRequestHeaders().getFirst("authorization"));
            byte[] body = answer.getBytes(StandardCharsets.UTF_8);
            exchange.sendResponseHeaders(status, body.length);
            exchange.getResponseBody().write(body);
            exchange.close();
        });
        server.start();
    }

    @AfterEach
    void close() {
        server.stop(0);
    }

    private int run(String... arguments) {
        return run(Map.of(), arguments);
    }

    private int run(Map<String, String> environment, String... arguments) {
        CommandLine line = Commands.commandLine(environment, () -> {
            throw new IllegalStateException("no command here serves");
        });
        line.setOut(new PrintWriter(out));
        line.setErr(new PrintWriter(err));
        String url = "http://127.0.0.1:" + server.getAddress().getPort() + "/";
        return line.execute(Stream.concat(Stream.of(arguments), Stream.of("--admin-url", url))
                .toArray(String[]::new));
    }

    @ParameterizedTest
    @CsvSource({
        "worker drain w1, /api/workers/drain?worker=w1",
        "worker recycle a&b, /api/workers/recycle?worker=a%26b",
        "worker drain --function shop, /api/workers/drain?function=shop",
        "worker recycle --function shop --function-version 4&2, /api/workers/recycle?function=shop&version=4%262",
        "weights set shop=95 a=b=5, /api/weights?shop=95&a%3Db=5",
        "launch pause, /launching?to=off",
        "launch resume, /launching?to=on",
        "launch pause --function shop, /launching?to=off&function=shop",
        "launch resume --function shop, /launching?to=on&function=shop",
        "cache clear, /api/cache/clear",
        "log-level set debug, /api/log-level?to=debug",
        "rollout stop shop, /api/rollout?to=stop&function=shop",
        "rollout resume a&b, /api/rollout?to=resume&function=a%26b"
    })
    void should_ask_for_the_change(String command, String target) {
        run(command.split(" "));

        assertThat(requests).containsExactly("POST " + target + " null");
    }

    @ParameterizedTest
    @CsvSource({
        "worker drain, expected either the id of a worker or --function",
        "worker drain w1 --function shop, expected either the id of a worker or --function",
        "worker recycle w1 --function-version 42, --function-version: expected --function as well",
        "weights set shop, 'expected a function and its weight such as shop=95, got \"shop\"'",
        "weights set a=1 =2, 'expected a function and its weight such as shop=95, got \"=2\"'"
    })
    void should_refuse_arguments_that_contradict_each_other_with_2(String command, String message) {
        assertThat(run(command.split(" "))).isEqualTo(ExitCode.USAGE);

        assertThat(err.toString().strip()).isEqualTo(message);
        assertThat(requests).isEmpty();
    }

    @Test
    void should_print_what_happens_to_each_worker() {
        answer = "{\"workers\":[{\"id\":\"w1\",\"function\":\"shop\",\"outcome\":\"drains_already\"},"
                + "{\"id\":\"w2\",\"function\":\"shop\",\"version\":\"42\",\"outcome\":\"done\"}]}";

        assertThat(run("worker", "drain", "--function", "shop")).isEqualTo(ExitCode.OK);
        assertThat(out.toString().lines())
                .containsExactly(
                        "worker w1 of function shop: It drains already.",
                        "worker w2 of function shop, version 42: drains");
    }

    @Test
    void should_print_what_is_in_force() {
        answer = "{\"weights\":{\"shop\":95,\"shop-next\":5}}";
        assertThat(run("weights", "set", "shop=95")).isEqualTo(ExitCode.OK);
        answer = "{\"level\":\"debug\"}";
        assertThat(run("log-level", "set", "debug")).isEqualTo(ExitCode.OK);
        answer = "{\"bytes\":4096}";
        assertThat(run("cache", "clear")).isEqualTo(ExitCode.OK);
        answer = "The change is accepted.\n";
        assertThat(run("launch", "pause")).isEqualTo(ExitCode.OK);
        answer = "{\"function\":\"shop\",\"to\":\"stop\"}";
        assertThat(run("rollout", "stop", "shop")).isEqualTo(ExitCode.OK);

        assertThat(out.toString().lines())
                .containsExactly(
                        "weight of shop: 95",
                        "weight of shop-next: 5",
                        "log level: debug",
                        "bytes of stored responses removed: 4096",
                        "The change is accepted.",
                        "function shop: the change stops");
    }

    @Test
    void should_fail_if_no_worker_obeys() {
        assertThat(run("worker", "recycle", "--function", "shop")).isEqualTo(ExitCode.FAILED);
        answer = "{\"workers\":[{\"id\":\"w1\",\"function\":\"shop\",\"outcome\":\"not_launched_here\"}]}";
        assertThat(run("worker", "recycle", "w1")).isEqualTo(ExitCode.FAILED);

        assertThat(out.toString().lines())
                .containsExactly(
                        "The function has no workers.",
                        "worker w1 of function shop: This dispatcher has not launched it, so cannot replace it. Ask the"
                                + " dispatcher that has, or drain it.");
    }

    @Test
    void should_send_the_token_of_a_file_or_of_the_environment() throws IOException {
        Path file = Files.writeString(directory.resolve("token"), TOKEN + "\nold" + TOKEN + "\n");
        run("worker", "drain", "w1", "--token-file", file.toString());
        run(Map.of("LAMBDA_DISPATCHER_ADMIN_TOKEN", "file:" + file), "worker", "drain", "w1");
        run(Map.of("LAMBDA_DISPATCHER_ADMIN_TOKEN", TOKEN), "worker", "drain", "w1");

        assertThat(requests).hasSize(3).allMatch(request -> request.endsWith(" Bearer " + TOKEN));
    }

    @Test
    void should_send_the_token_of_readers_only_to_read() throws IOException {
        Path file = Files.writeString(directory.resolve("token"), "read" + TOKEN + "\n");
        Map<String, String> reader = Map.of("LAMBDA_DISPATCHER_ADMIN_READ_TOKEN", "file:" + file);
        run(reader, "status");
        run(reader, "worker", "drain", "w1");
        run(
                Map.of("LAMBDA_DISPATCHER_ADMIN_READ_TOKEN", "file:" + file, "LAMBDA_DISPATCHER_ADMIN_TOKEN", TOKEN),
                "status");

        assertThat(requests)
                .containsExactly(
                        "GET /api/functions Bearer read" + TOKEN,
                        "POST /api/workers/drain?worker=w1 null",
                        "GET /api/functions Bearer " + TOKEN);
    }

    @Test
    void should_refuse_a_file_without_a_token_with_2() throws IOException {
        Path empty = Files.writeString(directory.resolve("empty"), "");
        assertThat(run("worker", "drain", "w1", "--token-file", empty.toString()))
                .isEqualTo(ExitCode.USAGE);
        assertThat(run("worker", "drain", "w1", "--token-file", directory + "/none"))
                .isEqualTo(ExitCode.USAGE);

        assertThat(err.toString().lines())
                .containsExactly(
                        "--token-file: expected a token of visible ASCII characters without spaces in the first line of "
                                + empty,
                        "--token-file: expected a readable file, got \"" + directory + "/none\"");
    }

    @Test
    void should_say_what_the_dispatcher_says_if_it_refuses() {
        status = 401;
        answer = "authorization: expected the token\n";

        assertThat(run("worker", "drain", "w1")).isEqualTo(ExitCode.FAILED);
        assertThat(out.toString()).isEmpty();
        assertThat(err.toString().lines())
                .containsExactly(
                        "authorization: expected the token", "Name the file that holds the token with --token-file.");
    }
}
