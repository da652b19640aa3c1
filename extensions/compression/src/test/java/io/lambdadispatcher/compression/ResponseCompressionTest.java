package io.lambdadispatcher.compression;

import static io.lambdadispatcher.compression.CompressionRig.policy;
import static io.lambdadispatcher.compression.CompressionRig.response;
import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.compression.CompressionRig.Encoded;
import io.lambdadispatcher.core.internal.exchange.Failure;
import io.lambdadispatcher.core.spi.HeaderFields;
import io.lambdadispatcher.core.spi.RequestContext;
import io.lambdadispatcher.wire.http.ContentEncoder;
import io.lambdadispatcher.wire.http.FlatHeaders;
import io.lambdadispatcher.wire.testkit.EachRelease;
import io.lambdadispatcher.wire.worker.ErrorCode;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.Unpooled;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.util.AsciiString;
import java.lang.reflect.Proxy;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

@EachRelease
class ResponseCompressionTest {
    private static final String JSON = "application/json";
    private static final int KIB = 1024;
    private static final int WINDOW_BYTES = 512 * KIB;

    private final CompressionRig rig = new CompressionRig();

    private static ByteBuf text(String text) {
        return Unpooled.copiedBuffer(text, StandardCharsets.UTF_8);
    }

    private static ByteBuf direct(byte[] bytes) {
        return Unpooled.directBuffer(bytes.length).writeBytes(bytes);
    }

    private String encodingAndVary() {
        Http2Headers head = rig.head;
        assertThat(head).isNotNull();
        return head.get("content-encoding") + " " + head.get("vary");
    }

    // Rules.

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            nullValues = "none",
            value = {
                "gzip       | application/json                | 1024 | gzip accept-encoding",
                "gzip       | application/json                | none | gzip accept-encoding",
                "gzip       | application/json                | 1023 | null null",
                "gzip       | Text/HTML ; charset=utf-8       | none | gzip accept-encoding",
                "gzip       | application/problem+json        | none | gzip accept-encoding",
                "gzip       | image/svg+xml; a=b              | none | gzip accept-encoding",
                "gzip       | image/png                       | none | null null",
                "gzip       | application/octet-stream        | none | null null",
                "gzip       | text/                           | none | null null",
                "gzip       | +json                           | none | null null",
                "gzip       | none                            | none | null null",
                "br, gzip   | application/json                | none | br accept-encoding",
                "identity   | application/json                | none | null accept-encoding",
                "none       | application/json                | none | null accept-encoding",
                "gzip;q=0   | application/json                | none | null accept-encoding",
            })
    void should_compress_by_type_size_and_acceptance(String accepted, String type, String length, String expected) {
        CompressionPolicy policy = policy(ContentEncoding.BR, ContentEncoding.GZIP);
        if (accepted == null) {
            rig.open(policy, "GET");
        } else {
            rig.open(policy, "GET", "accept-encoding", accepted);
        }
        FlatHeaders head = response();
        if (type != null) {
            head.add("content-type", type);
        }
        if (length != null) {
            head.add("content-length", length);
        }
        rig.function.response.onHead(head, false);
        assertThat(encodingAndVary()).isEqualTo(expected);
        rig.request.cancel(ErrorCode.CANCELLED);
    }

    @ParameterizedTest
    @CsvSource({
        "content-encoding, br",
        "content-range, bytes 0-1/2",
        "cache-control, no-transform",
        "content-digest, sha-256=:a=:"
    })
    void should_leave_a_response_that_must_not_change(String name, String value) {
        rig.respond(ContentEncoding.GZIP, "content-type", JSON, name, value, "etag", "\"a\"");
        assertThat(rig.head).isEqualTo(response("content-type", JSON, name, value, "etag", "\"a\""));
        rig.function.response.onData(text("{}"), true);
        assertThat(rig.body.toString(StandardCharsets.UTF_8)).isEqualTo("{}");
        rig.takeAll();
        assertThat(rig.function.returnedBytes).isEqualTo(2);
    }

    /** The head announces what the response says of its bytes (RFC 9530, RFC 9110 8.8.3). */
    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "content-digest         | x",
                "Repr-Digest            | x",
                "DIGEST                 | x",
                "content-md5            | x",
                "ETag                   | x",
                "x, content-digest      | server-timing",
                "server-timing,\tetag ,x | y",
                "server-timing          | x,repr-digest",
            })
    void should_leave_a_response_that_trailers_describe(String first, String second) {
        String[] fields = {"content-type", JSON, "trailer", first, "trailer", second, "etag", "\"a\""};
        FlatHeaders trailers = CompressionRig.headers("content-digest", "sha-256=:a=:", "etag", "\"a\"", "x", "y");
        rig.respond(ContentEncoding.GZIP, fields);
        assertThat(rig.head).isEqualTo(response(fields));
        rig.function.response.onData(text("{}"), false);
        rig.function.response.onTrailers(trailers);
        assertThat(rig.body.toString(StandardCharsets.UTF_8)).isEqualTo("{}");
        assertThat(rig.trailers).isEqualTo(trailers);
        rig.takeAll();
    }

    @ParameterizedTest
    @ValueSource(strings = {"server-timing", "x-content-digest, etags", "grpc-status,digest-x"})
    void should_compress_a_response_with_other_trailers(String announced) {
        rig.respond(ContentEncoding.GZIP, "content-type", JSON, "trailer", announced);
        assertThat(encodingAndVary()).isEqualTo("gzip accept-encoding");
        assertThat(rig.head.get("trailer")).hasToString(announced);
        rig.request.cancel(ErrorCode.CANCELLED);
    }

    private static FlatHeaders unannounced() {
        return CompressionRig.headers(
                "content-digest",
                "sha-256=:a=:",
                "content-digest",
                "sha-512=:a=:",
                "repr-digest",
                "sha-256=:a=:",
                "digest",
                "sha-256=a",
                "content-md5",
                "a",
                "etag",
                "\"a\"",
                "server-timing",
                "db");
    }

    @ParameterizedTest
    @EnumSource(ContentEncoding.class)
    void should_remove_trailers_that_describe_other_bytes(ContentEncoding encoding) {
        for (String content : List.of("{}", "")) {
            CompressionRig rig = new CompressionRig();
            rig.respond(encoding, "content-type", JSON);
            if (!content.isEmpty()) {
                rig.function.response.onData(text(content), false);
            }
            rig.function.response.onTrailers(unannounced());
            assertThat(rig.decoded()).asString().isEqualTo(content);
            assertThat(rig.trailers).isEqualTo(CompressionRig.headers("server-timing", "db"));
            rig.takeAll();
        }
    }

    /** It has the headers of an encoded response, too. */
    @Test
    void should_remove_trailers_that_describe_other_bytes_from_the_response_to_head() {
        rig.open(policy(ContentEncoding.GZIP), "HEAD", "accept-encoding", "gzip");
        rig.function.response.onHead(response("content-type", JSON), false);
        rig.function.response.onTrailers(unannounced());
        assertThat(encodingAndVary()).isEqualTo("gzip accept-encoding");
        assertThat(rig.trailers).isEqualTo(CompressionRig.headers("server-timing", "db"));
    }

    @ParameterizedTest
    @CsvSource({
        "200, gzip, content-encoding, br",
        "200, gzip, content-length, 2",
        "200, gzip, content-type, image/png",
        "200, identity, x, y",
        "206, gzip, content-range, bytes 0-1/9",
    })
    void should_keep_the_trailers_of_what_it_does_not_compress(
            String status, String accepted, String name, String value) {
        rig.open(policy(ContentEncoding.GZIP), "GET", "accept-encoding", accepted);
        FlatHeaders head = response("content-type", JSON);
        head.status(status);
        head.set(name, value);
        rig.function.response.onHead(head, false);
        rig.function.response.onData(text("{}"), false);
        rig.function.response.onTrailers(unannounced());
        assertThat(rig.body.toString(StandardCharsets.UTF_8)).isEqualTo("{}");
        assertThat(rig.trailers).isEqualTo(unannounced());
        rig.takeAll();
    }

    @Test
    void should_not_transform_if_the_client_forbids_it() {
        rig.open(policy(ContentEncoding.GZIP), "GET", "accept-encoding", "gzip", "cache-control", "no-transform");
        rig.function.response.onHead(response("content-type", JSON), false);
        assertThat(encodingAndVary()).isEqualTo("null accept-encoding");
    }

    @Test
    void should_describe_the_encoded_bytes() {
        rig.respond(
                ContentEncoding.GZIP,
                "content-type",
                JSON,
                "content-length",
                "5000",
                "accept-ranges",
                "bytes",
                "etag",
                "\"a\"",
                "vary",
                "origin");
        assertThat(rig.head)
                .isEqualTo(response(
                        "content-type",
                        JSON,
                        "vary",
                        "origin, accept-encoding",
                        "content-encoding",
                        "gzip",
                        "etag",
                        "W/\"a;gzip\""));
        rig.request.cancel(ErrorCode.CANCELLED);
    }

    @ParameterizedTest
    @ValueSource(strings = {"HEAD", "GET"})
    void should_answer_head_with_the_headers_of_get(String method) {
        rig.open(policy(ContentEncoding.GZIP), method, "accept-encoding", "gzip");
        boolean head = method.equals("HEAD");
        rig.function.response.onHead(response("content-type", JSON, "content-length", "5000"), head);
        assertThat(rig.head)
                .isEqualTo(response("content-type", JSON, "vary", "accept-encoding", "content-encoding", "gzip"));
        assertThat(rig.ended).isEqualTo(head);
        assertThat(rig.usedBytes() > 0).isEqualTo(!head);
        rig.request.cancel(ErrorCode.CANCELLED);
    }

    @Test
    void should_not_promise_a_body_that_there_is_not() {
        rig.open(policy(ContentEncoding.GZIP), "GET", "accept-encoding", "gzip");
        rig.function.response.onHead(response("content-type", JSON), true);
        assertThat(encodingAndVary()).isEqualTo("null accept-encoding");
        assertThat(rig.usedBytes()).isZero();
    }

    /** Its tag must fit the response that is stored, and its vary must be the same. */
    @Test
    void should_give_a_304_the_headers_of_the_200() {
        rig.open(policy(ContentEncoding.GZIP), "GET", "accept-encoding", "gzip", "if-none-match", "W/\"a;gzip\"");
        FlatHeaders notModified = response("etag", "\"a\"");
        notModified.status("304");
        rig.function.response.onHead(notModified, true);
        FlatHeaders expected = response("vary", "accept-encoding", "etag", "W/\"a;gzip\"");
        expected.status("304");
        assertThat(rig.head).isEqualTo(expected);
    }

    @Test
    void should_leave_grpc_tunnels_and_routes_without_compression_alone() {
        CompressionPolicy gzip = policy(ContentEncoding.GZIP);
        rig.open(gzip, "POST", "content-type", "application/grpc+json", "accept-encoding", "gzip");
        assertUnchanged();
        rig.open(gzip, "CONNECT", "accept-encoding", "gzip");
        assertUnchanged();
        rig.open(CompressionPolicy.builder().build(), "GET", "accept-encoding", "gzip");
        assertUnchanged();
        assertThat(rig.openWithout()).as("no filter at all").isSameAs(rig.function);
    }

    private void assertUnchanged() {
        rig.function.response.onHead(response("content-type", JSON), false);
        assertThat(rig.head).isEqualTo(response("content-type", JSON));
    }

    /** A copy of each header would cost a text each. */
    @Test
    void should_read_little_of_what_is_not_compressed() {
        List<String> ofRequest = new ArrayList<>();
        List<String> ofResponse = new ArrayList<>();
        HeaderFields requested = fields(null, ofRequest);
        RequestContext context = (RequestContext) Proxy.newProxyInstance(
                getClass().getClassLoader(),
                new Class<?>[] {RequestContext.class},
                (self, call, args) -> switch (call.getName()) {
                    case "function" -> "f";
                    case "method" -> "GET";
                    case "headers" -> requested;
                    default -> throw new AssertionError(call);
                });
        CompressionPolicy gzip = policy(ContentEncoding.GZIP);
        new EncodedResponse(rig.compression, gzip, gzip.mediaTypes(), context)
                .onHead(200, fields("image/png", ofResponse), true);
        assertThat(ofRequest).contains("get accept-encoding").allMatch(each -> each.startsWith("get "));
        assertThat(ofResponse).containsExactly("get content-type");
    }

    private HeaderFields fields(String type, List<String> calls) {
        return (HeaderFields) Proxy.newProxyInstance(
                getClass().getClassLoader(), new Class<?>[] {HeaderFields.class}, (self, call, args) -> {
                    if (call.getName().equals("bytes")) {
                        return self;
                    }
                    calls.add(call.getName() + " " + args[0]);
                    return "content-type".equals(args[0]) ? type : null;
                });
    }

    /**
     * An application knows its tag by the bytes, which can be above ASCII (RFC 9110 section 8.8.3):
     * valid UTF-8, UTF-8 that was encoded twice, ISO 8859-1, or anything else.
     */
    @Test
    void should_give_the_application_the_bytes_of_its_tag_back() {
        Random random = new Random(41);
        for (int i = 0; i < 2000; i++) {
            AsciiString tag = tag(random);
            ContentEncoding encoding = ContentEncoding.values()[random.nextInt(ContentEncoding.values().length)];
            AsciiString sent = encodedTag(encoding, tag);
            assertThat(sent.toString()).startsWith("W/\"").contains(";").isNotEqualTo(tag.toString());
            AsciiString other = tag(random);
            AsciiString list = new AsciiString(other + ", " + sent);
            AsciiString restored = new AsciiString(other + ", " + tag);

            assertThat(condition(encoding, "if-none-match", list)).isEqualTo(restored);
            assertThat(condition(encoding, "if-match", list)).isEqualTo(restored);
            assertThat(condition(encoding, "if-match", tag)).isEqualTo(tag);
            boolean strong = tag.charAt(0) == '"';
            assertThat(condition(encoding, "if-range", tag)).isEqualTo(strong ? tag : null);
            assertThat(condition(encoding, "if-range", sent)).isNull();
            assertThat(confirmedTag(encoding, sent, tag)).isEqualTo(sent);
        }
    }

    private static AsciiString tag(Random random) {
        byte[] opaque = new byte[random.nextInt(6)];
        for (int i = 0; i < opaque.length; i++) {
            int legal = random.nextInt(0x5D + 0x80); // 0x21, 0x23 to 0x7E, 0x80 to 0xFF
            opaque[i] = (byte) (legal == 0 ? 0x21 : legal < 0x5D ? legal + 0x22 : legal + 0x23);
        }
        String text = new String(opaque, StandardCharsets.ISO_8859_1);
        String utf8 = new String("\u00e9\u65e5".getBytes(StandardCharsets.UTF_8), StandardCharsets.ISO_8859_1);
        String twice = new String(utf8.getBytes(StandardCharsets.UTF_8), StandardCharsets.ISO_8859_1);
        String[] kinds = {text, utf8, twice, "\u00e9", text + utf8};
        return new AsciiString((random.nextBoolean() ? "W/" : "") + '"' + kinds[random.nextInt(kinds.length)] + '"');
    }

    private static AsciiString encodedTag(ContentEncoding encoding, AsciiString tag) {
        CompressionRig rig = new CompressionRig();
        rig.open(policy(encoding), "GET", "accept-encoding", encoding.token());
        FlatHeaders head = response("content-type", JSON);
        head.add("etag", tag);
        rig.function.response.onHead(head, false);
        AsciiString sent = (AsciiString) rig.head.get("etag");
        rig.request.cancel(ErrorCode.CANCELLED);
        return sent;
    }

    /** Returns the condition that the function gets of a client that continues a download. */
    private static CharSequence condition(ContentEncoding encoding, String name, AsciiString value) {
        CompressionRig rig = new CompressionRig();
        FlatHeaders head = new FlatHeaders();
        head.method("GET").scheme("https").authority("a").path("/");
        head.add("accept-encoding", encoding.token()).add("range", "bytes=9-").add(name, value);
        rig.open(policy(encoding), head);
        rig.request.cancel(ErrorCode.CANCELLED);
        return rig.function.received.get(name);
    }

    private static CharSequence confirmedTag(ContentEncoding encoding, AsciiString copy, AsciiString tag) {
        CompressionRig rig = new CompressionRig();
        FlatHeaders head = new FlatHeaders();
        head.method("GET").scheme("https").authority("a").path("/");
        head.add("accept-encoding", encoding.token()).add("if-none-match", copy);
        rig.open(policy(encoding), head);
        FlatHeaders notModified = new FlatHeaders();
        notModified.status("304").add("etag", tag);
        rig.function.response.onHead(notModified, true);
        return rig.head.get("etag");
    }

    // Bodies.

    @ParameterizedTest
    @EnumSource(ContentEncoding.class)
    void should_decode_to_what_the_function_has_sent(ContentEncoding encoding) {
        for (int seed = 0; seed < 150; seed++) {
            roundTrip(encoding, new Random(seed), "seed " + seed);
        }
    }

    /** A worker that stays within its window, a client that takes what it likes, and any parts. */
    private static void roundTrip(ContentEncoding encoding, Random random, String seed) {
        CompressionRig rig = new CompressionRig();
        byte[] content = content(random, random.nextInt(3) * random.nextInt(200 * KIB) + random.nextInt(3 * KIB));
        boolean known = random.nextBoolean();
        boolean withTrailers = random.nextBoolean();
        if (known) {
            rig.respond(encoding, "content-type", JSON, "content-length", Integer.toString(content.length + 2 * KIB));
        } else {
            rig.respond(encoding, "content-type", JSON);
        }
        int window = 16 * KIB + random.nextInt(100 * KIB);
        int at = 0;
        while (!rig.ended) {
            long free = window - (at - rig.function.returnedBytes);
            int bytes = (int) Math.min(Math.min(free, content.length - at), 1 + random.nextInt(20 * KIB));
            boolean last = at + bytes == content.length;
            assertThat(free).as(seed).isNotNegative();
            if (bytes > 0 || last) {
                rig.function.response.onData(part(random, content, at, bytes), last && !withTrailers);
                at += bytes;
                if (last && withTrailers) {
                    rig.function.response.onTrailers(CompressionRig.headers("a", "b"));
                }
            } else {
                assertThat(rig.untakenBytes).as(seed + ": the stream stalls").isPositive();
            }
            assertThat((long) rig.untakenBytes)
                    .as(seed)
                    .isLessThanOrEqualTo(at - rig.function.returnedBytes + Encoders.memoryBytes(encoding));
            if (rig.untakenBytes > 0 && random.nextInt(3) == 0) {
                rig.take(1 + random.nextInt(rig.untakenBytes));
            }
            assertThat(rig.function.returnedBytes).as(seed).isLessThanOrEqualTo(at);
        }
        rig.takeAll();
        assertThat(rig.function.returnedBytes).as(seed).isEqualTo(content.length);
        assertThat(rig.decoded()).as(seed).isEqualTo(content);
        assertThat(rig.trailers).as(seed).isEqualTo(withTrailers ? CompressionRig.headers("a", "b") : null);
        assertThat(rig.usedBytes()).as(seed).isZero();
        assertThat(rig.encoded())
                .as(seed)
                .containsExactly(new Encoded(encoding.token(), content.length, rig.body.size()));
    }

    private static byte[] content(Random random, int bytes) {
        byte[] content = new byte[bytes];
        switch (random.nextInt(3)) {
            case 0 -> random.nextBytes(content);
            case 1 -> {} // zeros
            default -> {
                for (int i = 0; i < bytes; i++) {
                    content[i] = (byte) "{\"name\": \"value\"},\n".charAt((i * 7 + random.nextInt(2)) % 19);
                }
            }
        }
        return content;
    }

    private static ByteBuf part(Random random, byte[] content, int at, int bytes) {
        ByteBuf heap = Unpooled.wrappedBuffer(content, at, bytes);
        return switch (random.nextInt(3)) {
            case 0 -> heap;
            case 1 -> Unpooled.directBuffer(bytes + 1).writeBytes(heap);
            default -> {
                int half = bytes / 2;
                yield Unpooled.wrappedBuffer(
                        Unpooled.directBuffer(half + 1).writeBytes(content, at, half),
                        Unpooled.wrappedBuffer(content, at + half, bytes - half));
            }
        };
    }

    /** The browser gets each event when the function sends it. */
    @ParameterizedTest
    @EnumSource(ContentEncoding.class)
    void should_pass_on_each_event_at_once(ContentEncoding encoding) {
        rig.respond(encoding, "content-type", "text/event-stream", "content-length", "100000");
        StringBuilder sent = new StringBuilder();
        for (int i = 0; i < 20; i++) {
            String event = "data: event " + i + "\n\n";
            sent.append(event);
            rig.function.response.onData(text(event), false);
            assertThat(new String(rig.decoded(), StandardCharsets.UTF_8)).isEqualTo(sent.toString());
            assertThat(rig.parts).isEqualTo(i + 1);
        }
        rig.request.cancel(ErrorCode.CANCELLED);
    }

    /** Larger blocks compress better, and nobody waits for less than the whole body. */
    @ParameterizedTest
    @EnumSource(ContentEncoding.class)
    void should_gather_a_body_of_known_length(ContentEncoding encoding) {
        rig.respond(encoding, "content-type", JSON, "content-length", "5000");
        for (int i = 0; i < 50; i++) {
            rig.function.response.onData(text("x".repeat(100)), i == 49);
        }
        assertThat(rig.parts).isEqualTo(1);
        assertThat(rig.decoded().length).isEqualTo(5000);
    }

    /** A flush before the end would cost a frame of the client's connection, and bytes. */
    @ParameterizedTest
    @EnumSource(ContentEncoding.class)
    void should_encode_the_last_part_together_with_the_end(ContentEncoding encoding) {
        rig.respond(encoding, "content-type", JSON);
        rig.function.response.onData(text("{}".repeat(500)), true);
        assertThat(rig.parts).isEqualTo(1);
        assertThat(rig.decoded()).hasSize(1000);
        assertThat(rig.body.size()).isEqualTo(sizeOfOnePiece(encoding, text("{}".repeat(500))));
    }

    @ParameterizedTest
    @EnumSource(ContentEncoding.class)
    void should_not_flush_the_turns_of_a_large_piece_of_unknown_length(ContentEncoding encoding) {
        byte[] content = new byte[1000 * KIB];
        rig.respond(encoding, "content-type", JSON);
        rig.function.response.onData(Unpooled.wrappedBuffer(content), true);
        rig.loop.runPendingTasks();
        assertThat(rig.decoded()).isEqualTo(content);
        CompressionRig known = new CompressionRig();
        known.respond(encoding, "content-type", JSON, "content-length", Integer.toString(content.length));
        known.function.response.onData(Unpooled.wrappedBuffer(content), true);
        known.loop.runPendingTasks();
        assertThat(rig.parts).isEqualTo(known.parts);
        assertThat(rig.body.size()).isEqualTo(known.body.size());
    }

    private static int sizeOfOnePiece(ContentEncoding encoding, ByteBuf content) {
        ByteBuf out = Unpooled.directBuffer();
        try (ContentEncoder encoder = Encoders.create(encoding)) {
            encoder.encode(content, ContentEncoder.Mode.FINISH, out);
            return out.readableBytes();
        } finally {
            content.release();
            out.release();
        }
    }

    // Back-pressure.

    /** Zeros become nothing for megabytes. The worker's window must not close meanwhile. */
    @ParameterizedTest
    @EnumSource(ContentEncoding.class)
    void should_return_what_becomes_no_output(ContentEncoding encoding) {
        rig.respond(encoding, "content-type", JSON, "content-length", "4194304");
        byte[] zeros = new byte[16 * KIB];
        for (int i = 0; i < 256; i++) {
            rig.function.response.onData(direct(zeros), false);
            rig.takeAll();
            assertThat(rig.function.returnedBytes).isEqualTo((i + 1) * zeros.length);
        }
        rig.function.response.onData(Unpooled.EMPTY_BUFFER, true);
        assertThat(rig.decoded().length).isEqualTo(4 * KIB * KIB);
    }

    /** Random bytes do not shrink, so a client that takes nothing stops the worker. */
    @ParameterizedTest
    @EnumSource(ContentEncoding.class)
    void should_hold_no_more_than_a_window_for_a_client_that_takes_nothing(ContentEncoding encoding) {
        rig.respond(encoding, "content-type", JSON, "content-length", "100000000");
        Random random = new Random(7);
        int sent = 0;
        while (sent - rig.function.returnedBytes < WINDOW_BYTES) {
            byte[] part = new byte[1 + random.nextInt(2 * KIB)];
            random.nextBytes(part);
            rig.function.response.onData(direct(part), false);
            sent += part.length;
        }
        assertThat(rig.untakenBytes).isLessThan(WINDOW_BYTES + Encoders.memoryBytes(encoding));
        int half = rig.untakenBytes / 2;
        long before = sent - rig.function.returnedBytes;
        rig.take(half);
        assertThat(sent - rig.function.returnedBytes).isBetween(before / 2 - 1, before / 2 + 2);
        rig.takeAll();
        assertThat(rig.function.returnedBytes).isEqualTo(sent);
        rig.request.cancel(ErrorCode.CANCELLED);
    }

    // Ends.

    @ParameterizedTest
    @EnumSource(ContentEncoding.class)
    void should_release_the_encoder_if_the_client_disconnects(ContentEncoding encoding) {
        rig.respond(encoding, "content-type", JSON);
        rig.function.response.onData(text("a part"), false);
        assertThat(rig.request.heldBytes()).isGreaterThan(200 * KIB);
        rig.request.cancel(ErrorCode.CANCELLED);
        assertThat(rig.function.cancelled).isEqualTo(ErrorCode.CANCELLED);
        assertThat(rig.request.heldBytes()).isZero();
        assertThat(rig.usedBytes()).isZero();
        rig.takeAll();
        assertThat(rig.function.returnedBytes).isEqualTo(6);
        assertThat(rig.encoded()).isEmpty();
    }

    /** The response must not look complete. */
    @ParameterizedTest
    @EnumSource(ContentEncoding.class)
    void should_cut_the_response_off_if_the_function_does(ContentEncoding encoding) {
        rig.respond(encoding, "content-type", JSON);
        rig.function.response.onData(text("a part"), false);
        rig.function.response.onFailure(new Failure(Failure.Kind.WORKER_LOST, "lost"));
        assertThat(rig.failure).isNotNull();
        assertThat(rig.ended).isFalse();
        assertThat(rig.usedBytes()).isZero();
        rig.takeAll();
        assertThat(rig.function.returnedBytes).isEqualTo(6);
    }

    @Test
    void should_not_compress_without_memory() {
        List<CompressionRig> open = new ArrayList<>();
        int limit = EncoderMemory.MAX_BYTES / Encoders.memoryBytes(ContentEncoding.GZIP);
        for (int i = 0; i < limit; i++) {
            rig.respond(ContentEncoding.GZIP, "content-type", JSON);
            assertThat(encodingAndVary()).isEqualTo("gzip accept-encoding");
            CompressionRig each = new CompressionRig();
            each.request = rig.request;
            open.add(each);
        }
        rig.respond(ContentEncoding.GZIP, "content-type", JSON, "content-length", "5000");
        assertThat(rig.head)
                .isEqualTo(response("content-type", JSON, "content-length", "5000", "vary", "accept-encoding"));
        open.forEach(each -> each.request.cancel(ErrorCode.CANCELLED));
        rig.respond(ContentEncoding.GZIP, "content-type", JSON);
        assertThat(encodingAndVary()).isEqualTo("gzip accept-encoding");
        rig.request.cancel(ErrorCode.CANCELLED);
    }

    private static CompressionRig withBuffers(int buffers) {
        AtomicInteger left = new AtomicInteger(buffers);
        ByteBufAllocator memory = (ByteBufAllocator) Proxy.newProxyInstance(
                ByteBufAllocator.class.getClassLoader(),
                new Class<?>[] {ByteBufAllocator.class},
                (self, call, args) -> {
                    if (left.getAndDecrement() <= 0) {
                        throw new InternalError("no more memory for the test");
                    }
                    return call.invoke(ByteBufAllocator.DEFAULT, args);
                });
        return new CompressionRig(Encoders::create, memory);
    }

    /** The client would take a body without this part for the complete one. */
    @ParameterizedTest
    @ValueSource(ints = {1, 2})
    void should_cut_the_response_off_if_there_is_no_memory_for_a_part(int buffers) {
        CompressionRig scarce = withBuffers(buffers);
        scarce.respond(ContentEncoding.GZIP, "content-type", JSON);
        List<ByteBuf> parts = new ArrayList<>();
        for (int i = 1; i <= buffers + 1; i++) {
            assertThat(scarce.failure).isNull();
            parts.add(text("part " + i));
            scarce.function.response.onData(parts.get(i - 1), i == 3);
        }
        assertCutOff(scarce);
        assertThat(scarce.parts).isEqualTo(buffers);
        assertThat(parts).allMatch(part -> part.refCnt() == 0);
    }

    @Test
    void should_cut_the_response_off_if_there_is_no_memory_in_a_later_turn() {
        CompressionRig scarce = withBuffers(1);
        ByteBuf content = Unpooled.wrappedBuffer(content(new Random(3), 100 * KIB));
        scarce.respond(ContentEncoding.GZIP, "content-type", JSON);
        scarce.function.response.onData(content, true);
        scarce.loop.runPendingTasks();
        assertCutOff(scarce);
        assertThat(content.refCnt()).isZero();
        scarce.takeAll();
        assertThat(scarce.function.returnedBytes).isEqualTo(100 * KIB);
    }

    private static void assertCutOff(CompressionRig scarce) {
        assertThat(scarce.failure).isNotNull();
        assertThat(scarce.failure.kind()).isEqualTo(Failure.Kind.FILTER_FAILED);
        assertThat(scarce.ended).isFalse();
        assertThat(scarce.function.cancelled).as("not the client's wish").isEqualTo(ErrorCode.INTERNAL);
        assertThat(scarce.usedBytes()).isZero();
        assertThat(scarce.encoded()).isEmpty();
    }

    @Test
    void should_release_the_end_of_a_body_if_its_encoder_fails_to_close() {
        List<ByteBuf> buffers = new ArrayList<>();
        ByteBufAllocator recording = (ByteBufAllocator) Proxy.newProxyInstance(
                ByteBufAllocator.class.getClassLoader(),
                new Class<?>[] {ByteBufAllocator.class},
                (self, call, args) -> {
                    buffers.add((ByteBuf) call.invoke(ByteBufAllocator.DEFAULT, args));
                    return buffers.get(buffers.size() - 1);
                });
        CompressionRig broken = new CompressionRig(
                encoding -> new ContentEncoder() {
                    @Override
                    public void encode(ByteBuf data, Mode mode, ByteBuf out) {
                        out.writeByte(mode.ordinal());
                    }

                    @Override
                    public int memoryBytes() {
                        return Encoders.memoryBytes(encoding);
                    }

                    @Override
                    public void close() {
                        throw new IllegalStateException("for the test");
                    }
                },
                recording);
        broken.respond(ContentEncoding.GZIP, "content-type", JSON);
        broken.function.response.onData(text("{}"), true);
        assertCutOff(broken);
        assertThat(buffers).hasSize(2).allMatch(each -> each.refCnt() == 0);
    }

    /** If zlib has no memory, the JDK throws an error. */
    @Test
    void should_not_compress_if_the_encoder_gets_no_memory() {
        CompressionRig scarce = new CompressionRig(
                encoding -> {
                    throw new InternalError("no more memory for the test");
                },
                ByteBufAllocator.DEFAULT);
        scarce.respond(ContentEncoding.GZIP, "content-type", JSON, "content-length", "5000");
        assertThat(scarce.head)
                .isEqualTo(response("content-type", JSON, "content-length", "5000", "vary", "accept-encoding"));
        scarce.function.response.onData(text("{}"), true);
        assertThat(scarce.body.toString(StandardCharsets.UTF_8)).isEqualTo("{}");
        assertThat(scarce.usedBytes()).isZero();
    }

    // The response to a direct request arrives as one piece.

    @ParameterizedTest
    @EnumSource(ContentEncoding.class)
    void should_encode_a_large_piece_in_several_turns(ContentEncoding encoding) {
        byte[] content = content(new Random(3), 1000 * KIB + 1);
        rig.respond(encoding, "content-type", JSON, "content-length", Integer.toString(content.length));
        rig.function.response.onData(Unpooled.wrappedBuffer(content), true);
        assertThat(rig.ended).isFalse();
        assertThat(rig.encoded()).isEmpty();
        for (int taken = -1; !rig.ended && taken < rig.function.returnedBytes; rig.takeAll()) {
            taken = (int) rig.function.returnedBytes;
            rig.loop.runPendingTasks();
        }
        assertThat(rig.ended).isTrue();
        rig.takeAll();
        assertThat(rig.decoded()).isEqualTo(content);
        assertThat(rig.function.returnedBytes).isEqualTo(content.length);
        assertThat(rig.encoded()).hasSize(1);
    }

    @Test
    void should_release_the_rest_of_a_large_piece_if_the_client_disconnects() {
        ByteBuf content = Unpooled.wrappedBuffer(new byte[1000 * KIB]);
        rig.respond(ContentEncoding.GZIP, "content-type", JSON);
        rig.function.response.onData(content, true);
        rig.takeAll();
        rig.request.cancel(ErrorCode.CANCELLED);
        assertThat(content.refCnt()).isZero();
        assertThat(rig.function.returnedBytes).isEqualTo(1000 * KIB);
        rig.loop.runPendingTasks();
        assertThat(rig.ended).isFalse();
        assertThat(rig.usedBytes()).isZero();
    }

    @Test
    void should_tell_the_exchange_that_its_client_serves_another_request() {
        rig.respond(ContentEncoding.GZIP, "content-type", JSON);
        rig.function.response.onData(text("{}"), true);
        rig.request.detach();
        assertThat(rig.function.detached).isTrue();
    }
}
