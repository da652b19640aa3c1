package io.lambdadispatcher.worker.adapter.web;

import static io.lambdadispatcher.worker.ScriptedStream.get;
import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.wire.worker.ErrorCode;
import io.lambdadispatcher.worker.Harness;
import io.lambdadispatcher.worker.ScriptedStream;
import io.lambdadispatcher.worker.ScriptedStream.Data;
import io.lambdadispatcher.worker.ScriptedStream.Gathered;
import io.lambdadispatcher.worker.ScriptedStream.Head;
import io.lambdadispatcher.worker.ScriptedStream.Reset;
import io.netty.handler.codec.http2.Http2Headers;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.zip.GZIPInputStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The rules of the AWS Lambda Web Adapter for AWS_LWA_ENABLE_COMPRESSION. */
@Timeout(180)
class GzippedResponseTest {
    private static final String TEXT = "0123456789abcdef".repeat(64);

    private static RawApp answering(String headers, String body) throws IOException {
        return new RawApp(connection -> {
            while (true) {
                String head = connection.readHead();
                if (head.isEmpty()) {
                    return;
                }
                String answer = "HTTP/1.1 200 OK\r\n" + headers + "Content-Length: " + body.length() + "\r\n\r\n";
                connection.write(head.startsWith("HEAD") ? answer : answer + body);
            }
        });
    }

    private static Harness worker(RawApp app) {
        return new Harness(new WebHandler(app.builder().compression(true).build())::handle);
    }

    private static String gunzip(byte[] bytes) throws IOException {
        return new String(
                new GZIPInputStream(new ByteArrayInputStream(bytes)).readAllBytes(), StandardCharsets.ISO_8859_1);
    }

    private static String fields(Gathered answer) {
        Http2Headers fields = answer.head().headers();
        return fields.get("content-encoding") + " " + fields.get("vary");
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            nullValues = "none",
            value = {
                "gzip, deflate, br | text/plain               | gzip accept-encoding",
                "gzip              | application/octet-stream | gzip accept-encoding",
                "gzip              | image/svg+xml            | gzip accept-encoding",
                "gzip              | none                     | gzip accept-encoding",
                "gzip              | image/png                | null null",
                "gzip              | text/event-stream        | null null",
                "gzip              | application/grpc         | null null",
                "br                | text/plain               | null accept-encoding",
                "none              | text/plain               | null accept-encoding",
            })
    void should_compress_what_the_aws_adapter_compresses(String accepted, String type, String expected)
            throws Exception {
        try (RawApp app = answering(type == null ? "" : "Content-Type: " + type + "\r\n", TEXT);
                Harness harness = worker(app)) {
            Http2Headers head = get("/");
            if (accepted != null) {
                head.add("accept-encoding", accepted);
            }
            Gathered answer = harness.stream().exchange(head);
            assertThat(fields(answer)).isEqualTo(expected);
            boolean encoded = expected.startsWith("gzip");
            assertThat(encoded ? gunzip(answer.body()) : answer.text()).isEqualTo(TEXT);
            assertThat(answer.head().headers().get("content-length").toString())
                    .isEqualTo(Integer.toString(answer.body().length));
        }
    }

    @ParameterizedTest
    @CsvSource({"31, null null", "32, gzip accept-encoding"})
    void should_not_compress_below_32_bytes(int length, String expected) throws Exception {
        try (RawApp app = answering("Content-Type: text/plain\r\n", TEXT.substring(0, length));
                Harness harness = worker(app)) {
            assertThat(fields(harness.stream().exchange(get("/").add("accept-encoding", "gzip"))))
                    .isEqualTo(expected);
        }
    }

    @Test
    void should_leave_what_the_application_has_compressed() throws Exception {
        try (RawApp app = answering("Content-Type: text/plain\r\nContent-Encoding: br\r\n", TEXT);
                Harness harness = worker(app)) {
            Gathered answer = harness.stream().exchange(get("/").add("accept-encoding", "gzip, br"));
            assertThat(fields(answer)).isEqualTo("br null");
            assertThat(answer.text()).isEqualTo(TEXT);
        }
    }

    /** They describe the bytes that the application has sent (RFC 9530, RFC 9110 section 8.8.3). */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void should_send_no_false_trailers(boolean announced) throws Exception {
        String trailers = "Content-Digest: sha-256=:a=:\r\nETag: \"a\"\r\nX-Sum: 9\r\n\r\n";
        try (RawApp app = new RawApp(connection -> {
                    connection.readHead();
                    connection.write("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n"
                            + (announced ? "Trailer: X-Sum, Content-Digest\r\n" : "")
                            + "\r\n4\r\npart\r\n0\r\n"
                            + trailers);
                    connection.awaitEnd();
                });
                Harness harness = worker(app)) {
            Gathered answer = harness.stream()
                    .exchange(get("/").add("accept-encoding", "gzip").add("te", "trailers"));
            assertThat(fields(answer)).isEqualTo(announced ? "null null" : "gzip accept-encoding");
            assertThat(announced ? answer.text() : gunzip(answer.body())).isEqualTo("part");
            assertThat(answer.trailers().get("x-sum")).hasToString("9");
            assertThat(answer.trailers().contains("content-digest")).isEqualTo(announced);
            assertThat(answer.trailers().contains("etag")).isEqualTo(announced);
        }
    }

    @Test
    void should_answer_head_with_the_headers_of_get() throws Exception {
        try (RawApp app = answering("Content-Type: text/plain\r\nETag: \"a\"\r\n", TEXT);
                Harness harness = worker(app)) {
            Gathered answer = harness.stream().exchange(get("/").method("HEAD").add("accept-encoding", "gzip"));
            assertThat(fields(answer)).isEqualTo("gzip accept-encoding");
            assertThat(answer.head().headers().get("etag").toString()).isEqualTo("W/\"a;gzip\"");
            assertThat(answer.head().headers().contains("content-length")).isFalse();
            assertThat(answer.body()).isEmpty();
        }
    }

    @Test
    void should_keep_the_compressed_response_and_the_applications_apart() throws Exception {
        BlockingQueue<String> heads = new LinkedBlockingQueue<>();
        try (RawApp app = new RawApp(connection -> {
                    for (String head = connection.readHead(); !head.isEmpty(); head = connection.readHead()) {
                        heads.add(head);
                        connection.write("HTTP/1.1 304 Not Modified\r\nETag: \"a\"\r\n\r\n");
                    }
                });
                Harness harness = worker(app)) {
            ScriptedStream stream = harness.stream();
            Http2Headers revalidating = get("/").add("accept-encoding", "gzip").add("if-none-match", "W/\"a;gzip\"");
            Http2Headers answer = stream.exchange(revalidating).head().headers();
            assertThat(answer.get("etag") + " " + answer.get("vary")).isEqualTo("W/\"a;gzip\" accept-encoding");
            assertThat(heads.take()).containsIgnoringCase("if-none-match: \"a\"");
            stream.exchange(get("/").add("range", "bytes=9-").add("if-range", "Fri, 20 Nov 2026 10:00:00 GMT"));
            assertThat(heads.take()).doesNotContainIgnoringCase("range");
        }
    }

    /** The application compares bytes, of UTF-8 or anything else (RFC 9110 section 8.8.3). */
    @ParameterizedTest
    @ValueSource(strings = {"\u00e9", "\u00c3\u00a9", "\u0083\u00c2\u00ff"})
    void should_keep_the_bytes_of_a_tag(String opaque) throws Exception {
        BlockingQueue<String> heads = new LinkedBlockingQueue<>();
        String answer = "HTTP/1.1 200 OK\r\nETag: \"" + opaque + "\"\r\nContent-Type: text/plain\r\nContent-Length: "
                + TEXT.length() + "\r\n\r\n" + TEXT;
        try (RawApp app = new RawApp(connection -> {
                    for (String head = connection.readHead(); !head.isEmpty(); head = connection.readHead()) {
                        heads.add(head);
                        connection.write(answer);
                    }
                });
                Harness harness = worker(app)) {
            ScriptedStream stream = harness.stream();
            CharSequence sent = stream.exchange(get("/").add("accept-encoding", "gzip"))
                    .head()
                    .headers()
                    .get("etag");
            heads.take();
            assertThat(sent).hasToString("W/\"" + opaque + ";gzip\"");
            Http2Headers revalidating = get("/").add("accept-encoding", "gzip").add("if-none-match", sent);
            assertThat(stream.exchange(revalidating).head().headers().get("etag"))
                    .isEqualTo(sent);
            assertThat(heads.take()).containsIgnoringCase("if-none-match: \"" + opaque + "\"\r\n");
        }
    }

    /** The application may pause between two chunks for as long as it likes. */
    @Test
    void should_pass_on_each_chunk_at_once() throws Exception {
        try (RawApp app = new RawApp(connection -> {
                    connection.readHead();
                    connection.write(
                            "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n");
                    for (int i = 0; i < 3; i++) {
                        connection.write("5\r\npart" + i + "\r\n");
                        connection.read(1);
                    }
                    connection.write("0\r\n\r\n");
                });
                Harness harness = worker(app)) {
            ScriptedStream stream = harness.stream();
            stream.request(
                    get("/").method("POST").add("accept-encoding", "gzip").add("content-length", "3"), 0, false);
            assertThat(stream.take(Head.class).headers().get("content-encoding").toString())
                    .isEqualTo("gzip");
            ByteArrayOutputStream received = new ByteArrayOutputStream();
            for (int i = 0; i < 3; i++) {
                String expected = "part0part1part2".substring(0, 5 * (i + 1));
                do {
                    received.writeBytes(stream.take(Data.class).content());
                } while (!flushed(received.toByteArray(), expected.length()).equals(expected));
                stream.data(new byte[1], i == 2);
            }
            while (true) {
                Data data = stream.take(Data.class);
                received.writeBytes(data.content());
                if (data.end()) {
                    break;
                }
            }
            assertThat(gunzip(received.toByteArray())).isEqualTo("part0part1part2");
        }
    }

    private static String flushed(byte[] bytes, int length) {
        try (GZIPInputStream in = new GZIPInputStream(new ByteArrayInputStream(bytes))) {
            return new String(in.readNBytes(length), StandardCharsets.ISO_8859_1);
        } catch (IOException e) {
            return "";
        }
    }

    @Test
    void should_serve_the_next_request_after_a_cancelled_one() throws Exception {
        try (RawApp app = new RawApp(connection -> {
                    connection.readHead();
                    connection.write("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n"
                            + "4\r\npart\r\n");
                    if (connection.index > 0) {
                        connection.write("0\r\n\r\n");
                    }
                    connection.awaitEnd();
                });
                Harness harness = worker(app)) {
            ScriptedStream stream = harness.stream();
            stream.request(get("/").add("accept-encoding", "gzip"), 0, true);
            stream.take(Head.class);
            stream.take(Data.class);
            stream.cancel(ErrorCode.CANCELLED);
            stream.take(Reset.class);
            assertThat(app.takeEnded()).isNotNull();
            assertThat(gunzip(stream.exchange(get("/").add("accept-encoding", "gzip"))
                            .body()))
                    .isEqualTo("part");
        }
    }
}
