package io.lambdadispatcher.core.internal.ingress;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.core.spi.Decision;
import io.lambdadispatcher.core.spi.Filter;
import io.lambdadispatcher.core.spi.ResponseFilter;
import io.netty.buffer.ByteBuf;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.Http2Headers;
import java.nio.charset.StandardCharsets;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Filters that answer requests for WebSockets. No answer opens one. */
class AnsweredTunnelTest {
    private static final Decision.Answer ANSWER = Decision.answer(200, "closed");

    private enum Way {
        AT_ONCE,
        LATER,
        /** The function has opened the tunnel, and the filter replaces its response. */
        REPLACED_TUNNEL,
        REPLACED_REFUSAL
    }

    private static Filter filter(Way way, CompletableFuture<Decision> decision) {
        return request -> switch (way) {
            case AT_ONCE -> ANSWER;
            case LATER -> Decision.later(decision);
            case REPLACED_TUNNEL, REPLACED_REFUSAL ->
                Decision.pass(new ResponseFilter() {
                    @Override
                    public Decision.Answer replace(int status, @Nullable String failure) {
                        return ANSWER;
                    }
                });
        };
    }

    private static void answer(ClientPath client, Way way, CompletableFuture<Decision> decision) {
        client.connect();
        switch (way) {
            case AT_ONCE -> {}
            case LATER -> decision.complete(ANSWER);
            case REPLACED_TUNNEL, REPLACED_REFUSAL ->
                client.open(new DefaultHttp2Headers().status(way == Way.REPLACED_TUNNEL ? "200" : "403"));
        }
        client.channel.runPendingTasks();
    }

    /** A client of WebSockets takes any other status than 101 as a refusal. */
    @ParameterizedTest
    @EnumSource(Way.class)
    void should_answer_as_to_any_request_of_http_1(Way way) {
        CompletableFuture<Decision> decision = new CompletableFuture<>();
        try (ClientPath client = ClientPath.of(ClientPath.Kind.HTTP1, filter(way, decision))) {
            answer(client, way, decision);
            ByteBuf sent = client.sent();
            assertThat(sent.toString(StandardCharsets.US_ASCII))
                    .startsWith("HTTP/1.1 200 OK\r\n")
                    .contains("content-length: 6\r\n")
                    .contains("connection: close\r\n")
                    .endsWith("\r\n\r\nclosed")
                    .doesNotContain("lambda-dispatcher");
            assertThat(client.isCancelled()).isEqualTo(way == Way.REPLACED_TUNNEL || way == Way.REPLACED_REFUSAL);
        }
    }

    /** With any 2xx, the client would take the text as frames. */
    @ParameterizedTest
    @EnumSource(Way.class)
    void should_refuse_to_a_client_of_http_2(Way way) {
        CompletableFuture<Decision> decision = new CompletableFuture<>();
        try (ClientPath client = ClientPath.of(ClientPath.Kind.HTTP2, filter(way, decision))) {
            answer(client, way, decision);
            Http2Headers head = Objects.requireNonNull(client.seen(false));
            assertThat(head.status()).hasToString("502");
            assertThat(head.get("content-length")).hasToString("6");
            assertThat(head.contains("lambda-dispatcher-not-switched")).isFalse();
            assertThat(client.isCancelled()).isEqualTo(way == Way.REPLACED_TUNNEL || way == Way.REPLACED_REFUSAL);
        }
    }
}
