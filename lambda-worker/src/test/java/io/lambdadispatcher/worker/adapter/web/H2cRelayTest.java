package io.lambdadispatcher.worker.adapter.web;

import static io.lambdadispatcher.worker.ScriptedStream.get;
import static io.lambdadispatcher.worker.ScriptedStream.post;
import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.wire.worker.ErrorCode;
import io.lambdadispatcher.worker.Harness;
import io.lambdadispatcher.worker.ScriptedDispatcher;
import io.lambdadispatcher.worker.ScriptedStream;
import io.lambdadispatcher.worker.ScriptedStream.Gathered;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.handler.codec.http2.DefaultHttp2DataFrame;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.DefaultHttp2HeadersFrame;
import io.netty.handler.codec.http2.DefaultHttp2ResetFrame;
import io.netty.handler.codec.http2.Http2DataFrame;
import io.netty.handler.codec.http2.Http2Error;
import io.netty.handler.codec.http2.Http2FrameCodec;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.handler.codec.http2.Http2HeadersFrame;
import io.netty.handler.codec.http2.Http2Settings;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

@Timeout(120)
class H2cRelayTest {
    private static final long BODY_BYTES = 64L * 1024 * 1024;
    private static final long MOST_UNDER_WAY_BYTES = 24L * 1024 * 1024;

    private static Harness worker(H2cApp app) {
        return new Harness(new WebHandler(app.config())::handle);
    }

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.US_ASCII);
    }

    private static ByteBuf buffer(String text) {
        return ByteBufAllocator.DEFAULT.buffer().writeBytes(bytes(text));
    }

    private static void goAway(ChannelHandlerContext to, int lastStreamId) {
        Channel connection = to.channel().parent();
        Http2FrameCodec codec = connection.pipeline().get(Http2FrameCodec.class);
        codec.goAway(
                connection.pipeline().context(codec),
                lastStreamId,
                Http2Error.NO_ERROR.code(),
                buffer("restart"),
                connection.newPromise());
        connection.flush();
    }

    private static void head(ChannelHandlerContext to, String status, boolean end) {
        to.writeAndFlush(new DefaultHttp2HeadersFrame(
                new DefaultHttp2Headers().status(status).add("x-app", "h2c"), end));
    }

    private static void ok(ChannelHandlerContext to) {
        head(to, "200", false);
        to.writeAndFlush(new DefaultHttp2DataFrame(buffer("ok"), true));
    }

    /** Works like a gRPC echo: headers, the received bytes, trailers. */
    private static void echo(ChannelHandlerContext to, Object frame) {
        if (frame instanceof Http2HeadersFrame headers && headers.headers().status() == null) {
            if (headers.headers().method() != null) {
                to.writeAndFlush(new DefaultHttp2HeadersFrame(new DefaultHttp2Headers()
                        .status("200")
                        .add("x-path", headers.headers().path())
                        .add("x-te", headers.headers().get("te", "none"))
                        .add("x-authority", headers.headers().authority())));
            }
            if (headers.isEndStream()) {
                Http2Headers trailers = new DefaultHttp2Headers().add("grpc-status", "0");
                CharSequence check = headers.headers().get("x-check");
                to.writeAndFlush(
                        new DefaultHttp2HeadersFrame(check == null ? trailers : trailers.add("x-check", check), true));
            }
        } else if (frame instanceof Http2DataFrame data) {
            if (data.content().isReadable()) {
                to.writeAndFlush(new DefaultHttp2DataFrame(data.content().retainedSlice()));
            }
            if (data.isEndStream()) {
                to.writeAndFlush(new DefaultHttp2HeadersFrame(new DefaultHttp2Headers().add("grpc-status", "0"), true));
            }
        }
    }

    @Test
    void should_pass_bodies_and_trailers_both_ways_as_they_come() throws Exception {
        try (H2cApp app = new H2cApp(Http2Settings.defaultSettings(), H2cRelayTest::echo);
                Harness harness = worker(app)) {
            ScriptedStream stream = harness.stream();
            stream.request(post("/pkg.Service/Call").add("te", "trailers"), 0, false);
            ScriptedStream.Head head = stream.take(ScriptedStream.Head.class);
            assertThat(head.headers().get("x-path")).hasToString("/pkg.Service/Call");
            assertThat(head.headers().get("x-te")).hasToString("trailers");
            assertThat(head.headers().get("x-authority")).hasToString("example");
            for (int i = 0; i < 5; i++) {
                stream.data(bytes("message " + i), false);
                assertThat(stream.take(ScriptedStream.Data.class).content()).isEqualTo(bytes("message " + i));
            }
            stream.trailers(new DefaultHttp2Headers().add("x-check", "7"));
            Http2Headers trailers = stream.take(ScriptedStream.Trailers.class).headers();
            assertThat(trailers.get("grpc-status")).hasToString("0");
            assertThat(trailers.get("x-check")).hasToString("7");
        }
    }

    @Test
    void should_use_one_connection_for_many_requests_at_once() throws Exception {
        try (H2cApp app = new H2cApp(Http2Settings.defaultSettings(), H2cRelayTest::echo);
                Harness harness = new Harness(
                        new WebHandler(app.config())::handle,
                        c -> c.connections(1).streams(20))) {
            ScriptedDispatcher.Link link = harness.dispatcher.takeReady();
            List<ScriptedStream> streams = new ArrayList<>();
            for (int i = 0; i < 20; i++) {
                ScriptedStream stream = link.takeStream();
                stream.request(post("/" + i), 0, false);
                streams.add(stream);
            }
            for (ScriptedStream stream : streams) {
                stream.take(ScriptedStream.Head.class);
            }
            for (ScriptedStream stream : streams) {
                stream.data(bytes("x"), true);
                stream.take(ScriptedStream.Data.class);
                stream.take(ScriptedStream.Trailers.class);
            }
            assertThat(app.connections).hasSize(1);
        }
    }

    @Test
    void should_open_another_connection_where_the_app_limits_its_streams() throws Exception {
        try (H2cApp app = new H2cApp(Http2Settings.defaultSettings().maxConcurrentStreams(4), H2cRelayTest::echo);
                Harness harness = new Harness(
                        new WebHandler(app.config())::handle,
                        c -> c.connections(1).streams(10))) {
            ScriptedDispatcher.Link link = harness.dispatcher.takeReady();
            for (int i = 0; i < 10; i++) {
                ScriptedStream stream = link.takeStream();
                stream.request(post("/" + i), 0, false);
                stream.take(ScriptedStream.Head.class);
            }
            assertThat(app.connections).hasSize(3);
        }
    }

    @Test
    void should_drop_fields_by_which_a_client_claims_to_be_an_event() throws Exception {
        H2cApp[] it = new H2cApp[1];
        try (H2cApp app = new H2cApp(Http2Settings.defaultSettings(), (to, frame) -> {
                    if (frame instanceof Http2HeadersFrame headers) {
                        headers.headers().forEach(field -> it[0].heard.add(field.getKey() + "=" + field.getValue()));
                        ok(to);
                    }
                });
                Harness harness = worker(app)) {
            it[0] = app;
            Http2Headers head = get("/").add("x-amzn-request-context", "{}")
                    .add("x_amzn_lambda_context", "{}")
                    .add("x-amzn-trace-id", "2");
            assertThat(harness.stream().exchange(head).text()).isEqualTo("ok");
            assertThat(app.heard)
                    .contains("x-amzn-trace-id=2")
                    .noneMatch(field -> field.toString().contains("context"));
        }
    }

    /** Otherwise, the worker would open connections forever. */
    @Test
    void should_answer_502_where_the_app_allows_no_stream() throws Exception {
        try (H2cApp app = new H2cApp(Http2Settings.defaultSettings().maxConcurrentStreams(0), H2cRelayTest::echo);
                Harness harness = new Harness(
                        new WebHandler(app.config())::handle,
                        c -> c.connections(1).streams(3))) {
            ScriptedDispatcher.Link link = harness.dispatcher.takeReady();
            ScriptedStream gone = link.takeStream();
            gone.requestAndCancel(get("/"));
            gone.take(ScriptedStream.Reset.class);
            for (int i = 0; i < 2; i++) {
                Gathered answer = link.takeStream().exchange(post("/"));
                assertThat(answer.status()).isEqualTo("502");
                assertThat(answer.text()).isEqualTo("the application gave no valid response\n");
            }
            for (Channel connection : app.connections) {
                assertThat(connection.closeFuture().await(20, TimeUnit.SECONDS)).isTrue();
            }
            assertThat(app.connections).hasSizeLessThanOrEqualTo(3);
        }
    }

    @Test
    void should_reset_the_apps_stream_when_the_client_goes() throws Exception {
        try (H2cApp app = new H2cApp(Http2Settings.defaultSettings(), H2cRelayTest::echo);
                Harness harness = worker(app)) {
            ScriptedStream stream = harness.stream();
            stream.request(post("/"), 0, false);
            stream.take(ScriptedStream.Head.class);
            stream.cancel(ErrorCode.CANCELLED);
            assertThat(app.takeHeard()).isEqualTo("reset " + Http2Error.CANCEL.code());
            assertThat(stream.take(ScriptedStream.Reset.class).code()).isEqualTo(ErrorCode.CANCELLED);
            assertThat(stream.exchange(get("/")).status()).isEqualTo("200");
            assertThat(app.connections).hasSize(1);
        }
    }

    @Test
    void should_reset_the_apps_stream_at_the_deadline() throws Exception {
        try (H2cApp app = new H2cApp(Http2Settings.defaultSettings(), (to, frame) -> {
                    if (frame instanceof Http2HeadersFrame headers
                            && headers.headers().path().toString().equals("/first")) {
                        ok(to);
                    }
                });
                Harness harness = worker(app)) {
            ScriptedStream stream = harness.stream();
            // Opens the connection, so that the next request reaches the app before its deadline.
            assertThat(stream.exchange(get("/first")).text()).isEqualTo("ok");
            stream.request(get("/"), 50, true);
            assertThat(stream.take(ScriptedStream.Reset.class).code()).isEqualTo(ErrorCode.TIMEOUT);
            assertThat(app.takeHeard()).isEqualTo("reset " + Http2Error.CANCEL.code());
        }
    }

    @Test
    void should_break_off_where_the_app_resets_its_stream() throws Exception {
        try (H2cApp app = new H2cApp(Http2Settings.defaultSettings(), (to, frame) -> {
                    if (frame instanceof Http2HeadersFrame headers) {
                        if (headers.headers().path().toString().equals("/late")) {
                            head(to, "200", false);
                        }
                        to.writeAndFlush(new DefaultHttp2ResetFrame(Http2Error.CANCEL));
                    }
                });
                Harness harness = worker(app)) {
            ScriptedStream stream = harness.stream();
            assertThat(stream.exchange(get("/early")).status()).isEqualTo("502");
            stream.request(get("/late"), 0, true);
            stream.take(ScriptedStream.Head.class);
            assertThat(stream.take(ScriptedStream.Reset.class).code()).isEqualTo(ErrorCode.CANCELLED);
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"GET", "POST"})
    void should_repeat_what_the_app_refuses(String method) throws Exception {
        AtomicInteger calls = new AtomicInteger();
        try (H2cApp app = new H2cApp(Http2Settings.defaultSettings(), (to, frame) -> {
                    if (frame instanceof Http2HeadersFrame) {
                        if (calls.incrementAndGet() == 1) {
                            to.writeAndFlush(new DefaultHttp2ResetFrame(Http2Error.REFUSED_STREAM));
                        } else {
                            ok(to);
                        }
                    }
                });
                Harness harness = worker(app)) {
            ScriptedStream stream = harness.stream();
            assertThat(stream.exchange(get("/").method(method)).text()).isEqualTo("ok");
            assertThat(calls).hasValue(2);
        }
    }

    @Test
    void should_send_what_a_goodbye_leaves_out_over_a_new_connection() throws Exception {
        AtomicInteger calls = new AtomicInteger();
        try (H2cApp app = new H2cApp(Http2Settings.defaultSettings(), (to, frame) -> {
                    if (!(frame instanceof Http2HeadersFrame)) {
                        return;
                    }
                    if (calls.incrementAndGet() == 2) {
                        // The connection had two streams, and the app has processed the first,
                        // which has id 1.
                        goAway(to, 1);
                    } else {
                        ok(to);
                    }
                });
                Harness harness = worker(app)) {
            ScriptedStream stream = harness.stream();
            assertThat(stream.exchange(get("/")).text()).isEqualTo("ok");
            assertThat(stream.exchange(post("/")).text()).isEqualTo("ok");
            assertThat(app.connections).hasSize(2);
            assertThat(stream.exchange(get("/")).text()).isEqualTo("ok");
            assertThat(app.connections).hasSize(2);
        }
    }

    @Test
    void should_refuse_a_body_that_a_goodbye_leaves_out() throws Exception {
        try (H2cApp app = new H2cApp(Http2Settings.defaultSettings(), (to, frame) -> {
                    if (frame instanceof Http2DataFrame data && data.isEndStream()) {
                        goAway(to, 0);
                    }
                });
                Harness harness = worker(app)) {
            ScriptedStream stream = harness.stream();
            stream.request(post("/"), "body".getBytes(StandardCharsets.US_ASCII), true);
            assertThat(stream.take(ScriptedStream.Reset.class).code()).isEqualTo(ErrorCode.REFUSED);
        }
    }

    @Test
    void should_answer_502_where_the_app_dies_or_does_not_speak_http2() throws Exception {
        try (H2cApp app = new H2cApp(
                        Http2Settings.defaultSettings(),
                        (to, frame) -> to.channel().parent().close());
                Harness harness = worker(app)) {
            assertThat(harness.stream().exchange(post("/")).status()).isEqualTo("502");
        }
        try (RawApp app = new RawApp(connection -> connection.write("HTTP/1.1 400 Bad Request\r\n\r\n"));
                Harness harness = new Harness(new WebHandler(
                        app.builder().protocol(WebConfig.AppProtocol.H2C).build())::handle)) {
            assertThat(harness.stream().exchange(get("/")).status()).isEqualTo("502");
        }
        RawApp gone = new RawApp(RawApp.Connection::awaitEnd);
        gone.close();
        try (Harness harness = new Harness(new WebHandler(
                gone.builder().protocol(WebConfig.AppProtocol.H2C).build())::handle)) {
            assertThat(harness.stream().exchange(get("/")).text())
                    .isEqualTo("the application gave no valid response\n");
        }
    }

    @Test
    void should_fail_one_request_where_the_app_answers_with_no_status() throws Exception {
        try (H2cApp app = new H2cApp(Http2Settings.defaultSettings(), (to, frame) -> {
                    if (frame instanceof Http2HeadersFrame headers) {
                        String status = headers.headers().path().toString().substring(1);
                        head(to, status, !status.contains("x"));
                    }
                });
                Harness harness = worker(app)) {
            ScriptedStream stream = harness.stream();
            assertThat(stream.exchange(get("/200")).status()).isEqualTo("200");
            assertThat(stream.exchange(get("/2x0")).text()).isEqualTo("the application gave no valid response\n");
            assertThat(stream.exchange(get("/204")).status()).isEqualTo("204");
            assertThat(app.connections).hasSize(1);
        }
    }

    @Test
    void should_fail_one_request_where_the_app_sends_another_length_than_it_announces() throws Exception {
        try (H2cApp app = new H2cApp(Http2Settings.defaultSettings(), (to, frame) -> {
                    if (frame instanceof Http2HeadersFrame headers) {
                        Http2Headers answer = new DefaultHttp2Headers().status("200");
                        if (headers.headers().path().toString().equals("/short")) {
                            answer.add("content-length", "5");
                        }
                        to.writeAndFlush(new DefaultHttp2HeadersFrame(answer, true));
                    }
                });
                Harness harness = worker(app)) {
            ScriptedStream stream = harness.stream();
            assertThat(stream.exchange(get("/whole")).status()).isEqualTo("200");
            stream.request(get("/short"), 0, true);
            assertThat(stream.take(ScriptedStream.Reset.class).code()).isEqualTo(ErrorCode.BAD_MESSAGE);
            assertThat(stream.exchange(get("/whole")).status()).isEqualTo("200");
            assertThat(app.connections).hasSize(1);
        }
    }

    @Test
    void should_pass_on_an_answer_that_comes_before_the_requests_end() throws Exception {
        try (H2cApp app = new H2cApp(Http2Settings.defaultSettings(), (to, frame) -> {
                    if (frame instanceof Http2HeadersFrame) {
                        head(to, "413", true);
                    }
                });
                Harness harness = worker(app)) {
            ScriptedStream stream = harness.stream();
            stream.request(post("/"), 0, false);
            assertThat(stream.gather().status()).isEqualTo("413");
            assertThat(app.takeHeard()).isEqualTo("reset " + Http2Error.CANCEL.code());
            stream.cancel(ErrorCode.NOT_NEEDED);
            assertThat(stream.exchange(get("/")).status()).isEqualTo("413");
        }
    }

    /**
     * The app has one stream. It reads no more than the first bytes, so the request's end can never
     * be sent.
     */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void should_reset_a_stream_whose_request_can_not_be_sent_any_more(boolean trailers) throws Exception {
        Http2Settings settings =
                Http2Settings.defaultSettings().initialWindowSize(10).maxConcurrentStreams(1);
        try (H2cApp app = new H2cApp(settings, (to, frame) -> {
                    if (frame instanceof Http2HeadersFrame) {
                        to.channel().config().setAutoRead(false);
                        head(to, "413", true);
                    }
                });
                Harness harness = worker(app)) {
            ScriptedStream stream = harness.stream();
            stream.request(post("/"), bytes("longer than the window"), !trailers);
            if (trailers) {
                stream.trailers(new DefaultHttp2Headers().add("x-check", "7"));
            }
            assertThat(stream.gather().status()).isEqualTo("413");
            assertThat(app.takeHeard()).isEqualTo("reset " + Http2Error.CANCEL.code());
            app.streams.forEach(ended -> ended.config().setAutoRead(true));
            assertThat(stream.exchange(get("/")).status()).isEqualTo("413");
            assertThat(app.connections).hasSize(1);
        }
    }

    @Test
    void should_open_a_websocket_as_the_app_offers_it() throws Exception {
        Http2Settings settings = Http2Settings.defaultSettings();
        settings.put((char) 8, Long.valueOf(1));
        try (H2cApp app = new H2cApp(settings, (to, frame) -> {
                    if (frame instanceof Http2HeadersFrame headers) {
                        assertThat(headers.headers().get(":protocol")).hasToString("websocket");
                        head(to, "200", false);
                    } else if (frame instanceof Http2DataFrame data) {
                        to.writeAndFlush(
                                new DefaultHttp2DataFrame(data.content().retainedSlice(), data.isEndStream()));
                    }
                });
                Harness harness = worker(app)) {
            ScriptedStream stream = harness.stream();
            stream.request(get("/ws").method("CONNECT").set(":protocol", "websocket"), 0, false);
            assertThat(stream.take(ScriptedStream.Head.class).headers().status())
                    .hasToString("200");
            stream.data(bytes("frame"), false);
            assertThat(stream.take(ScriptedStream.Data.class).content()).isEqualTo(bytes("frame"));
            stream.data(bytes("last"), true);
            assertThat(stream.take(ScriptedStream.Data.class).content()).isEqualTo(bytes("last"));
        }
    }

    @Test
    void should_stop_the_app_when_the_client_is_slow_and_lose_nothing() throws Exception {
        AtomicLong written = new AtomicLong();
        try (H2cApp app = new H2cApp(Http2Settings.defaultSettings(), (to, frame) -> {
                    if (frame instanceof Http2HeadersFrame) {
                        head(to, "200", false);
                        send(to, written);
                    }
                });
                Harness harness = worker(app)) {
            ScriptedStream stream = harness.stream();
            stream.holdsWindow = true;
            stream.countsOnly = true;
            stream.request(get("/"), 0, true);
            stream.take(ScriptedStream.Head.class);
            BackPressureTest.awaitStandstill(written);
            assertThat(written).hasValueLessThan(MOST_UNDER_WAY_BYTES);
            stream.releaseWindow();
            stream.awaitBody(BODY_BYTES);
            assertThat(stream.take(ScriptedStream.Data.class).end()).isTrue();
        }
    }

    /** Sends the next part when this part has passed the window. */
    private static void send(ChannelHandlerContext to, AtomicLong written) {
        int part = 64 * 1024;
        boolean last = written.get() + part >= BODY_BYTES;
        to.writeAndFlush(new DefaultHttp2DataFrame(to.alloc().buffer(part).writeZero(part), last))
                .addListener(done -> {
                    if (done.isSuccess()) {
                        written.addAndGet(part);
                        if (!last) {
                            to.executor().execute(() -> send(to, written));
                        }
                    }
                });
    }

    @Test
    void should_stop_the_client_when_the_app_is_slow_and_lose_nothing() throws Exception {
        AtomicLong sent = new AtomicLong();
        AtomicLong received = new AtomicLong();
        try (H2cApp app = new H2cApp(Http2Settings.defaultSettings(), (to, frame) -> {
                    if (frame instanceof Http2HeadersFrame) {
                        to.channel().config().setAutoRead(false);
                    } else if (frame instanceof Http2DataFrame data) {
                        received.addAndGet(data.content().readableBytes());
                        if (data.isEndStream()) {
                            ok(to);
                        }
                    }
                });
                Harness harness = worker(app)) {
            ScriptedStream stream = harness.stream();
            stream.request(post("/"), 0, false);
            byte[] part = new byte[64 * 1024];
            for (long queued = part.length; queued <= BODY_BYTES; queued += part.length) {
                stream.dataWhenTaken(part, queued == BODY_BYTES).addListener(taken -> sent.addAndGet(part.length));
            }
            BackPressureTest.awaitStandstill(sent);
            assertThat(sent).hasValueLessThan(MOST_UNDER_WAY_BYTES);
            app.streams.forEach(open -> open.config().setAutoRead(true));
            assertThat(stream.gather().text()).isEqualTo("ok");
            assertThat(received).hasValue(BODY_BYTES);
        }
    }
}
