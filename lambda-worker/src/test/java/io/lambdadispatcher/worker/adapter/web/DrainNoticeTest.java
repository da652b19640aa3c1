package io.lambdadispatcher.worker.adapter.web;

import static io.lambdadispatcher.worker.ScriptedStream.get;
import static io.lambdadispatcher.worker.ScriptedStream.post;
import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.spi.ILoggingEvent;
import io.lambdadispatcher.wire.testkit.LoggedLines;
import io.lambdadispatcher.wire.worker.ControlMessage.Drain;
import io.lambdadispatcher.wire.worker.ControlMessage.DrainCode;
import io.lambdadispatcher.worker.Harness;
import io.lambdadispatcher.worker.ScriptedDispatcher;
import io.lambdadispatcher.worker.ScriptedStream;
import io.lambdadispatcher.worker.adapter.web.WebConfig.Probe;
import io.lambdadispatcher.worker.handler.DrainReason;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.DefaultHttp2HeadersFrame;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.handler.codec.http2.Http2HeadersFrame;
import io.netty.handler.codec.http2.Http2Settings;
import java.io.IOException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

@Timeout(60)
class DrainNoticeTest {
    private static final String NO_CONTENT = "HTTP/1.1 204 No Content\r\n\r\n";

    private final LoggedLines logged = LoggedLines.of(DrainNotice.class, Level.INFO);
    private WebHandler handler;

    @AfterEach
    void leave() {
        logged.close();
        handler.stop();
    }

    private WebHandler handler(WebConfig.Builder config) {
        handler = new WebHandler(config.basePath("/going").drainPath("/going").build());
        return handler;
    }

    /** Tells the test about the headers of each request. */
    private static RawApp app(RawApp.Script onNotice) throws IOException {
        RawApp[] app = new RawApp[1];
        app[0] = new RawApp(connection -> {
            for (String head; !(head = connection.readHead()).isEmpty(); ) {
                app[0].heard.add(head);
                if (head.startsWith("POST /going ")) {
                    onNotice.serve(connection);
                } else {
                    connection.write(NO_CONTENT);
                }
            }
        });
        return app[0];
    }

    @Test
    void should_post_to_the_app_once_why_and_for_how_long() throws Exception {
        try (RawApp app = app(connection -> connection.write(NO_CONTENT));
                Harness harness = new Harness(
                        handler(app.builder()), c -> c.connections(2).streams(1))) {
            assertThat(app.takeHeard()).startsWith("GET / HTTP/1.1\r\n");
            ScriptedDispatcher.Link one = harness.dispatcher.takeReady();
            ScriptedDispatcher.Link other = harness.dispatcher.takeReady();
            one.send(new Drain(DrainCode.SCALE_IN, 10_000));
            other.send(new Drain(DrainCode.SCALE_IN, 10_000));
            assertThat(app.takeHeard())
                    .startsWith("POST /going HTTP/1.1\r\n")
                    .contains("\r\nlambda-dispatcher-drain-reason: SCALE_IN\r\n")
                    .contains("\r\nlambda-dispatcher-drain-grace-millis: 10000\r\n")
                    .contains("\r\ncontent-length: 0\r\n");
            harness.summary();
            assertThat(app.heard).isEmpty();
            assertThat(logged.events())
                    .singleElement()
                    .extracting(ILoggingEvent::getLevel)
                    .isEqualTo(Level.INFO);
        }
    }

    @Test
    void should_post_to_an_h2c_app() throws Exception {
        H2cApp[] it = new H2cApp[1];
        try (H2cApp app = new H2cApp(Http2Settings.defaultSettings(), (stream, frame) -> {
            if (frame instanceof Http2HeadersFrame head) {
                Http2Headers fields = head.headers();
                it[0].heard.add(fields.method() + " " + fields.path() + " "
                        + fields.get("lambda-dispatcher-drain-reason") + " "
                        + fields.get("lambda-dispatcher-drain-grace-millis") + " " + head.isEndStream());
                stream.writeAndFlush(new DefaultHttp2HeadersFrame(new DefaultHttp2Headers().status("204"), true));
            }
        })) {
            it[0] = app;
            try (Harness harness = new Harness(handler(app.builder().readinessProbe(Probe.TCP)))) {
                harness.dispatcher.takeReady();
                harness.worker.drain(DrainReason.REQUESTED);
                assertThat(app.takeHeard()).isEqualTo("POST /going REQUESTED 30000 true");
                harness.summary();
                assertThat(app.heard).isEmpty();
            }
        }
    }

    @ParameterizedTest
    @CsvSource({
        "refused, 10000, status 500",
        "closed, 10000, closed its connection",
        "silent, 200, no answer within 200 ms"
    })
    void should_log_in_one_line_that_the_app_does_not_take_it(String answer, int graceMillis, String text)
            throws Exception {
        try (RawApp app = app(connection -> {
                    switch (answer) {
                        case "refused" -> connection.write("HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n");
                        case "closed" -> connection.socket.close();
                        default -> connection.awaitEnd();
                    }
                });
                Harness harness = new Harness(handler(app.builder()))) {
            harness.dispatcher.takeReady().send(new Drain(DrainCode.SCALE_IN, graceMillis));
            assertThat(harness.summary().reason()).isEqualTo("scale in");
            assertThat(logged.events()).singleElement().satisfies(line -> {
                assertThat(line.getLevel()).isEqualTo(Level.WARN);
                assertThat(line.getFormattedMessage()).contains("/going", text);
                assertThat(line.getThrowableProxy()).isNull();
            });
        }
    }

    /** Otherwise, any client could make the application close its streams. */
    @Test
    void should_refuse_a_client_that_claims_to_be_the_worker() throws Exception {
        try (RawApp app = app(connection -> connection.write(NO_CONTENT));
                Harness harness = new Harness(handler(app.builder()))) {
            app.takeHeard();
            ScriptedStream stream = harness.stream();
            for (String name : new String[] {"lambda-dispatcher-drain-reason", "lambda_dispatcher-drain_reason"}) {
                assertThat(stream.exchange(post("/going").add(name, "SHUTDOWN")).status())
                        .isEqualTo("400");
            }
            assertThat(app.heard).isEmpty();
            assertThat(stream.exchange(get("/going")).status()).isEqualTo("204");
        }
    }
}
