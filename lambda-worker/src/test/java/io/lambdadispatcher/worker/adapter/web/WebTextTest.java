package io.lambdadispatcher.worker.adapter.web;

import static org.assertj.core.api.Assertions.assertThat;

import com.amazonaws.services.lambda.runtime.Context;
import io.lambdadispatcher.wire.event.EventFormat;
import io.lambdadispatcher.wire.event.EventWriter;
import io.lambdadispatcher.wire.event.ResponseReader;
import io.lambdadispatcher.wire.http.FlatHeaders;
import io.lambdadispatcher.wire.testkit.HeaderBytes;
import io.lambdadispatcher.worker.Harness;
import io.lambdadispatcher.worker.ScriptedStream;
import io.netty.buffer.Unpooled;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.util.AsciiString;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.lang.reflect.Proxy;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * An application receives the bytes that the client sent, and the client those that the application
 * sent: on a worker stream, and through an event of any format and its response.
 */
@Timeout(120)
class WebTextTest {
    private static final int ROUNDS = 200;

    /** Tells the test about each request, and responds with the value of its {@code x-a}. */
    private static RawApp echo() throws IOException {
        RawApp[] app = new RawApp[1];
        app[0] = new RawApp(connection -> {
            String head;
            while (!(head = connection.readHead()).isEmpty()) {
                app[0].heard.add(head);
                connection.write("HTTP/1.1 200 OK\r\ncontent-length: 0\r\nx-b: " + value(head, "x-a") + "\r\n\r\n");
            }
        });
        return app[0];
    }

    private static String value(String head, String name) {
        int at = head.indexOf("\r\n" + name + ": ") + name.length() + 4;
        return head.substring(at, head.indexOf("\r\n", at));
    }

    private static String target(String head) {
        return head.substring(head.indexOf(' ') + 1, head.indexOf(" HTTP/1.1\r\n"));
    }

    private static Http2Headers request(byte[] bytes) {
        return new FlatHeaders()
                .method("GET")
                .scheme("http")
                .authority("h")
                .path(HeaderBytes.value("/p?q=", bytes))
                .add("x-a", HeaderBytes.value("", bytes))
                .add("cookie", HeaderBytes.value("c=", bytes));
    }

    private static byte[] raw(String latin1) {
        return latin1.getBytes(StandardCharsets.ISO_8859_1);
    }

    @Test
    void should_relay_any_bytes_unchanged() throws Exception {
        long seed = System.nanoTime();
        Random random = new Random(seed);
        try (RawApp app = echo();
                Harness harness = new Harness(new WebHandler(app.config())::handle)) {
            ScriptedStream stream = harness.stream();
            for (int i = 0; i < ROUNDS; i++) {
                byte[] bytes = HeaderBytes.random(random);
                ScriptedStream.Gathered answer = stream.exchange(request(bytes));
                String round = "round " + i + " of seed " + seed;
                String head = app.takeHeard();
                assertThat(raw(target(head)))
                        .as(round)
                        .isEqualTo(HeaderBytes.value("/p?q=", bytes).array());
                assertThat(raw(value(head, "x-a"))).as(round).isEqualTo(bytes);
                assertThat(raw(value(head, "cookie")))
                        .as(round)
                        .isEqualTo(HeaderBytes.value("c=", bytes).array());
                assertThat(AsciiString.of(answer.head().headers().get("x-b")).toByteArray())
                        .as(round)
                        .isEqualTo(bytes);
            }
        }
    }

    /** An event has no bytes. Those that are not UTF-8 become the UTF-8 of the same characters. */
    @ParameterizedTest
    @EnumSource
    void should_keep_any_text_through_an_event_and_its_response(EventFormat format) throws Exception {
        long seed = System.nanoTime();
        Random random = new Random(seed);
        EventWriter events = EventWriter.of(format, "f");
        ResponseReader responses = new ResponseReader(format);
        Context context = (Context) Proxy.newProxyInstance(
                Context.class.getClassLoader(),
                new Class<?>[] {Context.class},
                (proxy, method, arguments) -> method.getReturnType() == int.class ? (Object) 30_000 : method.getName());
        try (RawApp app = echo()) {
            WebHandler handler = new WebHandler(app.config());
            for (int i = 0; i < ROUNDS; i++) {
                byte[] bytes = HeaderBytes.random(random);
                byte[] sent = HeaderBytes.text(bytes).getBytes(StandardCharsets.UTF_8);
                byte[] event = events.write(request(bytes), Unpooled.EMPTY_BUFFER, 1 << 20);
                ByteArrayOutputStream result = new ByteArrayOutputStream();
                handler.handleRequest(new ByteArrayInputStream(event), result, context);

                String round = format + ", round " + i + " of seed " + seed;
                String head = app.takeHeard();
                assertThat(raw(value(head, "x-a"))).as(round).isEqualTo(sent);
                assertThat(raw(value(head, "cookie")))
                        .as(round)
                        .isEqualTo(HeaderBytes.value("c=", sent).array());
                assertThat(URLDecoder.decode(
                                new String(raw(target(head)), StandardCharsets.UTF_8), StandardCharsets.UTF_8))
                        .as(round)
                        .isEqualTo("/p?q=" + HeaderBytes.text(bytes));
                Http2Headers answer =
                        responses.read(result.toByteArray(), "GET").head();
                assertThat(AsciiString.of(answer.get("x-b")).toByteArray())
                        .as(round)
                        .isEqualTo(sent);
            }
            handler.stop();
        }
    }
}
