package io.lambdadispatcher.worker.adapter.runtime;

import static io.lambdadispatcher.worker.ScriptedStream.get;
import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.worker.ScriptedStream;
import io.lambdadispatcher.worker.ScriptedStream.Gathered;
import java.io.IOException;
import java.io.InputStream;
import java.net.Socket;
import java.net.SocketException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.UUID;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.DisabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * A runtime sends bytes that belong to no request of the Runtime API, or that the API must not
 * accept any more. Each client must get exactly its own response or a failure, whatever these bytes
 * are and however they are cut. A runtime may send the response to any invocation that it holds. So
 * the forged ones are for invocations that have ended, or are behind a request that ends the
 * connection (RFC 9112 sections 6.3 and 9.6).
 */
@Timeout(180)
@DisabledOnOs(value = OS.WINDOWS, disabledReason = "the child is a script for a POSIX shell")
class RuntimeSurplusTest {
    private static final int STREAMS = 4;
    private static final int STEPS = 100;
    private static final Pattern ID = Pattern.compile("(?i)lambda-runtime-aws-request-id: (\\S+)");
    private static final Pattern LENGTH = Pattern.compile("(?i)content-length: (\\d+)");
    private static final Pattern TOKEN = Pattern.compile("\"rawPath\":\"/(token\\d+)\"");
    private static final String NEXT = "GET /2018-06-01/runtime/invocation/next HTTP/1.1\r\nhost: x\r\n\r\n";
    private static final String STOLEN =
            "{\"statusCode\":200,\"headers\":{\"set-cookie\":\"sid=attacker\"},\"body\":\"attacker\"}";
    private static final String ZEROS = "\0\0\0\0\0\0\0\0";

    @TempDir
    Path directory;

    /** A connection of the runtime's client. */
    private static final class Wire implements AutoCloseable {
        final Socket socket;
        final InputStream in;
        String id = "";
        String token = "";

        /** The status for the client. */
        String status = "";

        Wire(String authority) throws IOException {
            String[] address = authority.split(":");
            socket = new Socket(address[0], Integer.parseInt(address[1]));
            socket.setSoTimeout(60_000);
            socket.setTcpNoDelay(true);
            in = socket.getInputStream();
        }

        /** Sends the text in up to four parts. */
        void write(String text, Random random) throws IOException {
            byte[] bytes = text.getBytes(StandardCharsets.ISO_8859_1);
            int[] cuts =
                    random.ints(random.nextInt(4), 0, bytes.length + 1).sorted().toArray();
            int from = 0;
            for (int cut : cuts) {
                socket.getOutputStream().write(bytes, from, cut - from);
                from = cut;
            }
            socket.getOutputStream().write(bytes, from, bytes.length - from);
        }

        /** Reads one message. */
        String read() throws IOException {
            StringBuilder head = new StringBuilder();
            while (head.indexOf("\r\n\r\n") < 0) {
                int next = in.read();
                assertThat(next).as("end of the connection after %s", head).isNotNegative();
                head.append((char) next);
            }
            Matcher length = LENGTH.matcher(head);
            byte[] body = in.readNBytes(length.find() ? Integer.parseInt(length.group(1)) : 0);
            return head + new String(body, StandardCharsets.ISO_8859_1);
        }

        /** Reads the next invocation. */
        void readInvocation() throws IOException {
            String invocation = read();
            id = group(ID, invocation);
            token = group(TOKEN, invocation);
        }

        private static String group(Pattern pattern, String text) {
            Matcher found = pattern.matcher(text);
            assertThat(found.find()).as("%s in %s", pattern, text).isTrue();
            return found.group(1);
        }

        @Override
        public void close() throws IOException {
            socket.close();
        }
    }

    private final List<String> ended = new ArrayList<>(List.of(UUID.randomUUID().toString()));
    private Random random = new Random();
    private int forged;

    private static String post(String resource, String headers, String body) {
        return "POST /2018-06-01/runtime/" + resource + " HTTP/1.1\r\nhost: x\r\n" + headers + "\r\n" + body;
    }

    /** A request with its body in one of the two framings. */
    private String framed(String resource, String headers, String body) {
        if (random.nextBoolean()) {
            return post(resource, headers + "content-length: " + body.length() + "\r\n", body);
        }
        int cut = random.nextInt(body.length());
        StringBuilder chunks = new StringBuilder();
        for (String chunk : List.of(body.substring(0, cut), body.substring(cut))) {
            if (!chunk.isEmpty()) {
                chunks.append(Integer.toHexString(chunk.length()))
                        .append("\r\n")
                        .append(chunk)
                        .append("\r\n");
            }
        }
        String trailers = random.nextBoolean() ? "" : "x-trailer: POST /2018-06-01/runtime/invocation\r\n";
        return post(resource, headers + "transfer-encoding: chunked\r\n", chunks + "0\r\n" + trailers + "\r\n");
    }

    private static String json(String token) {
        return "{\"statusCode\":200,\"headers\":{\"token\":\"" + token + "\"},\"body\":\"" + token + "\"}";
    }

    /** What the runtime sends for an invocation. The client gets 502 for a part of it. */
    private String answer(Wire wire, String headers) {
        String resource = "invocation/" + wire.id + "/response";
        String prelude = "{\"headers\":{\"token\":\"" + wire.token + "\"}}";
        String streaming = headers + "lambda-runtime-function-response-mode: streaming\r\n"
                + "content-type: application/vnd.awslambda.http-integration-response\r\n";
        int kind = random.nextInt(8);
        wire.status = kind < 3 ? "502" : "200";
        return switch (kind) {
            case 0 -> framed("invocation/" + wire.id + "/error", headers, "{}");
            case 1 -> framed(resource, headers, json(wire.token) + STOLEN);
            case 2 -> framed(resource, streaming, prelude + STOLEN + ZEROS + wire.token);
            case 3 -> framed(resource, streaming, prelude + ZEROS + wire.token);
            default -> framed(resource, headers, json(wire.token));
        };
    }

    private String forged(String id) {
        forged++;
        return framed("invocation/" + id + "/" + (random.nextInt(4) == 0 ? "error" : "response"), "", STOLEN);
    }

    private <T> T any(List<T> from) {
        return from.get(random.nextInt(from.size()));
    }

    /**
     * Answers one invocation, perhaps with surplus behind the answer.
     *
     * @param others invocations that are not yet answered
     * @return whether the connection can be used again
     */
    private boolean serve(Wire wire, List<Wire> others) throws IOException {
        int surplus = random.nextInt(12);
        if (surplus > 6 || others.isEmpty() && surplus > 2) {
            wire.write(answer(wire, ""), random);
            assertThat(wire.read()).startsWith("HTTP/1.1 202 ");
            return true;
        }
        String headers = surplus == 3 ? "connection: close\r\n" : "";
        String behind = switch (surplus) {
            case 0 -> forged(wire.id);
            case 1 -> forged(any(ended));
            case 2 -> any(List.of("x", "\r\n\r\n", "HTTP/1.1 200 OK\r\n\r\n", "POST / HTTP/1.1\r\nconte", "\0\0"));
            case 4 -> NEXT + NEXT;
            case 5 -> post("nowhere", "expect: 100-continue\r\ncontent-length: 5\r\n", "12345");
            case 6 ->
                post(
                        "nowhere",
                        any(List.of(
                                "content-length: 5\r\ntransfer-encoding: chunked\r\n",
                                "content-length: 5\r\ncontent-length: 6\r\n",
                                "transfer-encoding: chunked, gzip\r\n",
                                "content-length: +5\r\n",
                                "no header\r\n")),
                        "0\r\n\r\n");
            default -> "";
        };
        if (surplus > 2) {
            behind += forged(any(others).id);
        }
        try (wire) {
            wire.write(answer(wire, headers) + behind, random);
            wire.socket.shutdownOutput();
            wire.in.readAllBytes();
        } catch (SocketException e) {
            // The worker has closed the connection before the last part.
        }
        return false;
    }

    private static void verify(Gathered response, Wire of, String what) {
        assertThat(response.status()).as(what).isEqualTo(of.status);
        assertThat(response.head().headers().contains("set-cookie")).as(what).isFalse();
        if (of.status.equals("200")) {
            assertThat(response.head().headers().get("token")).as(what).hasToString(of.token);
            assertThat(response.text()).as(what).isEqualTo(of.token);
        } else {
            assertThat(response.text()).as(what).doesNotContain("attacker");
        }
    }

    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3})
    void should_give_each_client_exactly_its_own_response(long seed) throws Exception {
        random = new Random(seed);
        try (ScriptedRuntime runtime = new ScriptedRuntime(
                directory, Map.of("LAMBDA_DISPATCHER_RUNTIME_CONCURRENCY", String.valueOf(STREAMS)))) {
            List<Wire> wires = new ArrayList<>();
            List<ScriptedStream> streams = new ArrayList<>();
            for (int step = 0; step < STEPS; step++) {
                while (wires.size() < STREAMS) {
                    wires.add(new Wire(runtime.authority()));
                }
                for (Wire wire : wires) {
                    wire.write(NEXT, random);
                }
                if (streams.isEmpty()) {
                    var link = runtime.harness().dispatcher.takeReady();
                    for (int i = 0; i < STREAMS; i++) {
                        streams.add(link.takeStream());
                    }
                }
                for (int i = 0; i < STREAMS; i++) {
                    streams.get(i).request(get("/token" + (step * STREAMS + i)), 0, true);
                }
                Map<String, Wire> byToken = new HashMap<>();
                for (Wire wire : wires) {
                    wire.readInvocation();
                    byToken.put(wire.token, wire);
                }
                List<Wire> unanswered = new ArrayList<>(wires);
                Collections.shuffle(unanswered, random);
                while (!unanswered.isEmpty()) {
                    Wire wire = unanswered.remove(0);
                    if (!serve(wire, unanswered)) {
                        wires.remove(wire);
                    }
                    ended.add(wire.id);
                }
                for (int i = 0; i < STREAMS; i++) {
                    String token = "token" + (step * STREAMS + i);
                    verify(streams.get(i).gather(), byToken.get(token), "seed " + seed + ", " + token);
                }
            }
            for (Wire wire : wires) {
                wire.close();
            }
        }
        assertThat(forged).isGreaterThan(STEPS);
    }
}
