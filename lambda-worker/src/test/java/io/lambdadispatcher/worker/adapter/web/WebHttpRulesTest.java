package io.lambdadispatcher.worker.adapter.web;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.wire.testkit.HttpRules;
import io.lambdadispatcher.wire.testkit.HttpRules.Header;
import io.lambdadispatcher.wire.testkit.HttpRules.Length;
import io.lambdadispatcher.wire.testkit.HttpRules.Status;
import io.lambdadispatcher.wire.testkit.HttpRules.Trailer;
import io.lambdadispatcher.wire.testkit.HttpRules.Verdict;
import io.lambdadispatcher.worker.Harness;
import io.lambdadispatcher.worker.ScriptedStream;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelHandlerContext;
import io.netty.handler.codec.http2.DefaultHttp2DataFrame;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.DefaultHttp2HeadersFrame;
import io.netty.handler.codec.http2.Http2DataFrame;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.handler.codec.http2.Http2HeadersFrame;
import io.netty.handler.codec.http2.Http2Settings;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.Map.Entry;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * The rules of HTTP on the way to an application and back, over HTTP/1.1 and over HTTP/2 in clear
 * text.
 */
@Timeout(60)
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class WebHttpRulesTest {
    enum App {
        HTTP1,
        H2C
    }

    /** The application's response. */
    private record Answer(
            String status,
            Http2Headers fields,
            boolean withBody,
            @Nullable Http2Headers trailers) {
        static final Answer OK = new Answer("200", new DefaultHttp2Headers(false), false, null);
    }

    /** What the application receives: the headers, or the trailers if there are any. */
    private final BlockingQueue<Http2Headers> heard = new LinkedBlockingQueue<>();

    private volatile @Nullable Answer interim;
    private volatile Answer answer = Answer.OK;

    // Started once for many cases. Started again for the other kind, and after a case that has
    // broken the worker stream.
    private AutoCloseable app = () -> {};
    private @Nullable Harness harness;
    private @Nullable App open;
    private @Nullable ScriptedStream stream;

    static Stream<Arguments> headers() {
        return with(HttpRules.headers());
    }

    static Stream<Arguments> trailers() {
        return with(HttpRules.trailers());
    }

    static Stream<Arguments> statuses() {
        return with(HttpRules.statuses());
    }

    static Stream<Arguments> lengths() {
        return with(HttpRules.lengths());
    }

    private static <T> Stream<Arguments> with(List<T> rules) {
        return Stream.of(App.values()).flatMap(kind -> rules.stream().map(rule -> Arguments.of(kind, rule)));
    }

    private static Http2Headers fields() {
        return new DefaultHttp2Headers(false);
    }

    private static Http2Headers fields(Header rule) {
        Http2Headers fields = fields();
        return (rule.nominated() ? fields.add("connection", rule.name()) : fields).add(rule.name(), rule.value());
    }

    private ScriptedStream start(App kind, @Nullable Answer interimAnswer, Answer finalAnswer) throws Exception {
        interim = interimAnswer;
        answer = finalAnswer;
        heard.clear();
        if (stream != null && kind == open) {
            ScriptedStream again = stream;
            stream = null;
            return again;
        }
        stop();
        open = kind;
        if (kind == App.HTTP1) {
            RawApp raw = new RawApp(this::serve);
            app = raw;
            harness = new Harness(new WebHandler(raw.config())::handle);
        } else {
            H2cApp h2c = new H2cApp(Http2Settings.defaultSettings(), this::serve);
            app = h2c;
            harness = new Harness(new WebHandler(h2c.config())::handle);
        }
        return harness.stream();
    }

    @AfterAll
    void stop() throws Exception {
        stream = null;
        if (harness != null) {
            harness.close();
            harness = null;
            app.close();
        }
    }

    private void serve(RawApp.Connection connection) throws IOException {
        Http2Headers head = read(connection.readHead());
        Http2Headers last = head;
        if (head.contains("transfer-encoding")) {
            last = read(connection.readHead().replaceFirst("(?s).*\r\n0", "0"));
        } else if (head.contains("content-length")) {
            connection.read(Integer.parseInt(head.get("content-length").toString()));
        }
        heard.add(last);
        if (interim != null) {
            connection.write("HTTP/1.1 " + interim.status + " Interim\r\n\r\n");
        }
        StringBuilder text = new StringBuilder(
                "HTTP/1.1 " + answer.status + " Text\r\nconnection: close\r\n" + lines(answer.fields));
        if (answer.trailers != null) {
            text.append("transfer-encoding: chunked\r\n\r\n0\r\n")
                    .append(lines(answer.trailers))
                    .append("\r\n");
        } else if (answer.withBody) {
            text.append("\r\n").append(HttpRules.BODY);
        } else {
            text.append("content-length: 0\r\n\r\n");
        }
        connection.write(text.toString());
    }

    private static Http2Headers read(String lines) {
        Http2Headers fields = fields();
        for (String line : lines.substring(lines.indexOf("\r\n") + 2).split("\r\n")) {
            if (!line.isEmpty()) {
                fields.add(line.substring(0, line.indexOf(':')), line.substring(line.indexOf(':') + 2));
            }
        }
        return fields;
    }

    private static String lines(Http2Headers fields) {
        StringBuilder lines = new StringBuilder();
        for (Map.Entry<CharSequence, CharSequence> field : fields) {
            lines.append(field.getKey()).append(": ").append(field.getValue()).append("\r\n");
        }
        return lines.toString();
    }

    private void serve(ChannelHandlerContext stream, Object frame) {
        boolean end = frame instanceof Http2DataFrame data && data.isEndStream();
        if (frame instanceof Http2HeadersFrame headers) {
            end = headers.isEndStream();
            heard.clear();
            heard.add(headers.headers());
        }
        if (!end) {
            return;
        }
        if (interim != null) {
            stream.writeAndFlush(new DefaultHttp2HeadersFrame(fields().status(interim.status)));
        }
        boolean bare = !answer.withBody && answer.trailers == null;
        stream.writeAndFlush(
                new DefaultHttp2HeadersFrame(fields().status(answer.status).add(answer.fields), bare));
        if (answer.withBody) {
            stream.writeAndFlush(new DefaultHttp2DataFrame(
                    Unpooled.copiedBuffer(HttpRules.BODY, StandardCharsets.US_ASCII), answer.trailers == null));
        }
        if (answer.trailers != null) {
            stream.writeAndFlush(new DefaultHttp2HeadersFrame(answer.trailers, true));
        }
    }

    /** The worker's response. {@code head} is {@code null} if there is none. */
    private record Seen(
            @Nullable Http2Headers head, @Nullable Http2Headers trailers, boolean whole) {
        String status() {
            return head == null ? "502" : head.status().toString();
        }
    }

    /** Reads up to the end of the response, or of the worker stream. */
    private Seen seen(ScriptedStream from) throws InterruptedException {
        Http2Headers head = null;
        while (true) {
            ScriptedStream.Event event = from.events.poll(20, TimeUnit.SECONDS);
            boolean end = false;
            if (event instanceof ScriptedStream.Head next) {
                head = next.headers();
                end = next.end();
            } else if (event instanceof ScriptedStream.Data data) {
                end = data.end();
            } else if (event instanceof ScriptedStream.Trailers trailers) {
                return new Seen(head, trailers.headers(), true);
            } else if (!(event instanceof ScriptedStream.Interim)) {
                return new Seen(head, null, false);
            }
            if (end) {
                return new Seen(head, null, true);
            }
        }
    }

    /**
     * Keeps the worker stream for the next case, because the request and the response have ended in
     * order.
     */
    private void keep(ScriptedStream used, Seen seen) {
        stream = seen.whole && seen.status().charAt(0) == '2' ? used : null;
    }

    private static Verdict verdict(Seen seen, String refusal, @Nullable Http2Headers fields, String name) {
        if (!seen.whole || seen.status().equals(refusal)) {
            return Verdict.REFUSED;
        }
        return fields != null && fields.contains(name) ? Verdict.PASSED : Verdict.DROPPED;
    }

    private static Http2Headers post() {
        return fields().method("POST").scheme("http").authority("example").path("/");
    }

    private Seen exchange(ScriptedStream on, Http2Headers head) throws InterruptedException {
        on.request(head, 0, true);
        Seen seen = seen(on);
        keep(on, seen);
        return seen;
    }

    private Seen exchange(ScriptedStream on, Http2Headers head, @Nullable Http2Headers trailers)
            throws InterruptedException {
        on.request(head, HttpRules.BODY.getBytes(StandardCharsets.US_ASCII), trailers == null);
        if (trailers != null) {
            on.trailers(trailers);
        }
        Seen seen = seen(on);
        keep(on, seen);
        return seen;
    }

    /** Headers on a worker stream follow the rules of HTTP/2. */
    @ParameterizedTest
    @MethodSource("headers")
    void should_pass_drop_or_refuse_headers_of_a_request(App kind, Header rule) throws Exception {
        Seen seen = exchange(start(kind, null, Answer.OK), post().add(fields(rule)));
        assertThat(verdict(seen, "400", heard.poll(), rule.name())).isEqualTo(rule.inHttp2(rule.inRequest()));
    }

    @ParameterizedTest
    @EnumSource
    void should_take_an_asterisk_for_a_path_only_with_options(App kind) throws Exception {
        Seen seen = exchange(start(kind, null, Answer.OK), post().path("*"));
        assertThat(seen.status()).isEqualTo("400");
        seen = exchange(start(kind, null, Answer.OK), post().path("*").method("OPTIONS"));
        assertThat(seen.status()).isEqualTo("200");
    }

    @ParameterizedTest
    @MethodSource("trailers")
    void should_pass_drop_or_refuse_trailers_of_a_request(App kind, Trailer rule) throws Exception {
        Http2Headers trailers = fields().add(rule.name(), "1").add("x-first", "1");
        Seen seen = exchange(start(kind, null, Answer.OK), post(), trailers);
        assertThat(verdict(seen, "400", heard.poll(), rule.name())).isEqualTo(rule.inRequest());
    }

    @ParameterizedTest
    @EnumSource
    void should_drop_trailers_by_which_a_client_claims_to_be_an_event(App kind) throws Exception {
        Http2Headers trailers = fields().add("x-amzn-request-context", "{}")
                .add("x_amzn_lambda_context", "{}")
                .add("x-first", "1");
        exchange(start(kind, null, Answer.OK), post(), trailers);
        assertThat(heard.poll()).extracting(Entry::getKey).hasToString("[x-first]");
    }

    @ParameterizedTest
    @MethodSource("lengths")
    void should_hold_a_request_to_its_content_length(App kind, Length rule) throws Exception {
        Http2Headers head = post();
        rule.values().forEach(value -> head.add("content-length", value));
        Seen seen = exchange(start(kind, null, Answer.OK), head, null);
        assertThat(seen.status()).isEqualTo(rule.verdict() == Verdict.PASSED ? "200" : "400");
    }

    @ParameterizedTest
    @EnumSource
    void should_refuse_a_length_without_a_body(App kind) throws Exception {
        Seen seen = exchange(start(kind, null, Answer.OK), post().add("content-length", "4"));
        assertThat(seen.status()).isEqualTo("400");
    }

    /**
     * In an HTTP/1.1 response, Netty removes whitespace between name and colon (RFC 9112 section
     * 5.1), and all characters in between: it reads "na me" as "na".
     */
    @ParameterizedTest
    @MethodSource("headers")
    void should_pass_drop_or_refuse_headers_of_a_response(App kind, Header rule) throws Exception {
        if (kind == App.HTTP1 && rule.name().indexOf(' ') > 0) {
            return;
        }
        Seen seen = exchange(start(kind, null, new Answer("200", fields(rule), false, null)), post());
        assertThat(verdict(seen, "502", seen.head, rule.name()))
                .isEqualTo(kind == App.H2C ? rule.inHttp2(rule.inResponse()) : rule.inResponse());
    }

    @ParameterizedTest
    @MethodSource("trailers")
    void should_pass_drop_or_refuse_trailers_of_a_response(App kind, Trailer rule) throws Exception {
        if (kind == App.HTTP1 && rule.name().indexOf(' ') > 0) {
            return;
        }
        Http2Headers trailers = fields().add(rule.name(), "1").add("x-first", "1");
        Seen seen = exchange(start(kind, null, new Answer("200", fields(), false, trailers)), post());
        assertThat(verdict(seen, "502", seen.trailers, rule.name())).isEqualTo(rule.inResponse());
    }

    @ParameterizedTest
    @MethodSource("statuses")
    void should_take_final_statuses(App kind, Status rule) throws Exception {
        Seen seen = exchange(start(kind, null, new Answer(rule.text(), fields(), false, null)), post());
        assertThat(seen.status()).isEqualTo(rule.asFinal() == Verdict.PASSED ? rule.text() : "502");
    }

    @ParameterizedTest
    @MethodSource("statuses")
    void should_take_interim_statuses(App kind, Status rule) throws Exception {
        if (rule.asFinal() == Verdict.PASSED) {
            return;
        }
        Seen seen = exchange(start(kind, new Answer(rule.text(), fields(), false, null), Answer.OK), post());
        assertThat(seen.status()).isEqualTo(rule.asInterim() == Verdict.PASSED ? "200" : "502");
    }

    @ParameterizedTest
    @MethodSource("lengths")
    void should_hold_a_response_to_its_content_length(App kind, Length rule) throws Exception {
        if (kind == App.HTTP1 && rule.isMismatch()) {
            return;
        }
        Http2Headers fields = fields();
        rule.values().forEach(value -> fields.add("content-length", value));
        Seen seen = exchange(start(kind, null, new Answer("200", fields, true, null)), post());
        assertThat(seen.whole && seen.status().equals("200")).isEqualTo(rule.verdict() == Verdict.PASSED);
    }
}
