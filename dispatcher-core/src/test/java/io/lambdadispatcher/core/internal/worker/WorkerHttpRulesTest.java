package io.lambdadispatcher.core.internal.worker;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.core.Dispatcher;
import io.lambdadispatcher.core.options.FunctionOptions;
import io.lambdadispatcher.core.options.ListenerOptions;
import io.lambdadispatcher.core.request.DispatchException;
import io.lambdadispatcher.core.request.DispatchRequest;
import io.lambdadispatcher.core.request.DispatchResponse;
import io.lambdadispatcher.wire.testkit.HttpRules;
import io.lambdadispatcher.wire.testkit.HttpRules.Body;
import io.lambdadispatcher.wire.testkit.HttpRules.Header;
import io.lambdadispatcher.wire.testkit.HttpRules.Length;
import io.lambdadispatcher.wire.testkit.HttpRules.Status;
import io.lambdadispatcher.wire.testkit.HttpRules.Verdict;
import io.lambdadispatcher.wire.worker.FrameWriter;
import io.lambdadispatcher.wire.worker.HeadEncoder;
import io.lambdadispatcher.wire.worker.WireException;
import io.netty.buffer.ByteBuf;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.nio.NioIoHandler;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.Http2Headers;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Flow;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Checks the rules of HTTP for responses of workers, as the embedding program receives them. */
class WorkerHttpRulesTest {
    private static final byte[] SECRET = "sixteen bytes at least".getBytes(StandardCharsets.UTF_8);

    private final EventLoopGroup loops = new MultiThreadIoEventLoopGroup(1, NioIoHandler.newFactory());
    private final Dispatcher dispatcher = Dispatcher.builder()
            .function(FunctionOptions.of("f"))
            .workerListener(ListenerOptions.plain("127.0.0.1", 0))
            .secret(SECRET)
            .eventLoops(1)
            .start();
    private final HeadEncoder encoder = new HeadEncoder();

    static List<Header> headers() {
        return HttpRules.headers();
    }

    static List<Status> statuses() {
        return HttpRules.statuses();
    }

    static List<Length> lengths() {
        return HttpRules.lengths();
    }

    static List<Body> bodies() {
        return HttpRules.bodies();
    }

    @AfterEach
    void stop() throws Exception {
        dispatcher.close(Duration.ZERO).toCompletableFuture().get(10, TimeUnit.SECONDS);
        loops.shutdownGracefully(0, 1, TimeUnit.SECONDS).sync();
    }

    private interface Frames {
        void write(ByteBuf out) throws WireException;
    }

    /**
     * Sends a request, and responds with the frames. POST is not retried if the stream is lost.
     *
     * @return the response, after its end; {@code null} if it was rejected
     */
    private @Nullable DispatchResponse respond(String method, Frames frames) throws Exception {
        try (ScriptedWorker worker = new ScriptedWorker(loops, dispatcher.workerAddress(), "f", "w", SECRET).ready(1)) {
            CompletableFuture<DispatchResponse> response = dispatcher
                    .dispatch(
                            DispatchRequest.builder(method, "/a").authority("a").build())
                    .toCompletableFuture();
            worker.expect("3 REQUEST_HEAD /a end");
            worker.bytes(3, out -> {
                try {
                    frames.write(out);
                } catch (WireException e) {
                    throw new AssertionError(e);
                }
            });
            DispatchResponse answer = response.get(10, TimeUnit.SECONDS);
            answer.body().subscribe(new Drain());
            answer.trailers().toCompletableFuture().get(10, TimeUnit.SECONDS);
            return answer;
        } catch (ExecutionException e) {
            assertThat(((DispatchException) e.getCause()).status()).isEqualTo(502);
            return null;
        }
    }

    private static final class Drain implements Flow.Subscriber<ByteBuf> {
        @Override
        public void onSubscribe(Flow.Subscription subscription) {
            subscription.request(Long.MAX_VALUE);
        }

        @Override
        public void onNext(ByteBuf data) {
            data.release();
        }

        @Override
        public void onError(Throwable error) {}

        @Override
        public void onComplete() {}
    }

    private static Http2Headers status(String status) {
        return new DefaultHttp2Headers(false).status(status);
    }

    private static void body(ByteBuf out) {
        FrameWriter.writeDataHeader(out, HttpRules.BODY.length(), true);
        out.writeCharSequence(HttpRules.BODY, StandardCharsets.US_ASCII);
    }

    /** Headers of the worker protocol follow HTTP/2's rules. */
    @ParameterizedTest
    @MethodSource("headers")
    void should_pass_drop_or_refuse_headers(Header rule) throws Exception {
        Http2Headers head = status("200");
        if (rule.nominated()) {
            head.add("connection", rule.name());
        }
        head.add(rule.name(), rule.value());
        DispatchResponse seen = respond("POST", out -> FrameWriter.writeResponseHead(out, encoder, head, true));
        Verdict verdict =
                seen == null ? Verdict.REFUSED : seen.header(rule.name()) != null ? Verdict.PASSED : Verdict.DROPPED;
        assertThat(verdict).isEqualTo(rule.inHttp2(rule.inResponse()));
    }

    @ParameterizedTest
    @MethodSource("statuses")
    void should_take_final_statuses(Status rule) throws Exception {
        DispatchResponse seen =
                respond("POST", out -> FrameWriter.writeResponseHead(out, encoder, status(rule.text()), true));
        assertThat(seen == null).isEqualTo(rule.asFinal() == Verdict.REFUSED);
    }

    @ParameterizedTest
    @MethodSource("statuses")
    void should_take_interim_statuses(Status rule) throws Exception {
        DispatchResponse seen = respond("POST", out -> {
            FrameWriter.writeInterim(out, encoder, status(rule.text()));
            FrameWriter.writeResponseHead(out, encoder, status("200"), true);
        });
        assertThat(seen == null).isEqualTo(rule.asInterim() == Verdict.REFUSED);
    }

    @ParameterizedTest
    @MethodSource("lengths")
    void should_hold_a_response_to_its_content_length(Length rule) throws Exception {
        Http2Headers head = status("200");
        rule.values().forEach(value -> head.add("content-length", value));
        DispatchResponse seen = respond("POST", out -> {
            FrameWriter.writeResponseHead(out, encoder, head, false);
            body(out);
        });
        assertThat(seen == null).isEqualTo(rule.verdict() == Verdict.REFUSED);
    }

    @ParameterizedTest
    @MethodSource("bodies")
    void should_take_no_body_where_there_is_none(Body rule) throws Exception {
        DispatchResponse seen = respond(rule.toHead() ? "HEAD" : "POST", out -> {
            FrameWriter.writeResponseHead(out, encoder, status(rule.status()), !rule.sent());
            if (rule.sent()) {
                body(out);
            }
        });
        assertThat(seen == null).isEqualTo(rule.verdict() == Verdict.REFUSED);
    }
}
