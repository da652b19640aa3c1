package io.lambdadispatcher.core.internal.direct;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.core.internal.exchange.Failure;
import io.lambdadispatcher.core.internal.exchange.RequestSink;
import io.lambdadispatcher.core.internal.pool.SilentClient;
import io.lambdadispatcher.core.observe.DispatcherObserver;
import io.lambdadispatcher.core.options.DirectEventFormat;
import io.lambdadispatcher.core.options.DirectOptions;
import io.lambdadispatcher.core.options.FunctionOptions;
import io.lambdadispatcher.core.options.TrafficPolicy;
import io.lambdadispatcher.core.spi.FunctionInvoker.InvokeResult;
import io.lambdadispatcher.wire.worker.ErrorCode;
import io.netty.buffer.ByteBuf;
import io.netty.channel.embedded.EmbeddedChannel;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.util.CharsetUtil;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * A function returns bytes behind the JSON of its response, or a part of it. Each client must get
 * exactly its own response or a failure, in whatever order the concurrent invocations end.
 */
class DirectSurplusTest {
    private static final int REQUESTS = 3000;
    private static final String STOLEN =
            "{\"statusCode\":200,\"multiValueHeaders\":{\"set-cookie\":[\"sid=attacker\"]},"
                    + "\"headers\":{\"set-cookie\":\"sid=attacker\"},\"body\":\"attacker\"}";
    private static final List<String> SURPLUS =
            List.of("", "", "", " \r\n\t", "{", "}", "]", ",", "x", "\0", "\"\"", "null", "0", "\uFEFF", STOLEN);

    private final EmbeddedChannel loop = new EmbeddedChannel();
    private final FakeFunction invoker = new FakeFunction(null);
    private int complete;

    private final class Client extends SilentClient {
        final String token;
        final String method;
        final StringBuilder body = new StringBuilder();
        boolean mayComplete;
        boolean over;

        @Nullable
        RequestSink request;

        Client(String token, String method) {
            this.token = token;
            this.method = method;
        }

        @Override
        public void onHead(Http2Headers head, boolean end) {
            assertThat(over).as(token).isFalse();
            assertThat(head.get("token")).as(token).hasToString(token);
            assertThat(head.contains("set-cookie")).as(token).isFalse();
            end(end);
        }

        @Override
        public void onData(ByteBuf data, boolean end) {
            body.append(data.toString(CharsetUtil.UTF_8));
            int bytes = data.readableBytes();
            data.release();
            end(end);
            request.responseTaken(bytes);
        }

        private void end(boolean end) {
            if (end) {
                assertThat(mayComplete).as(token).isTrue();
                assertThat(body).as(token).hasToString(method.equals("HEAD") ? "" : token);
                over = true;
                complete++;
            }
        }

        @Override
        public void onFailure(Failure failure) {
            assertThat(over).as(token).isFalse();
            over = true;
            assertThat(failure.kind()).as(token).isIn(Failure.Kind.BAD_RESPONSE, Failure.Kind.FUNCTION_FAILED);
            assertThat(mayComplete).as(token).isFalse();
        }
    }

    private static String json(String token) {
        return "{\"statusCode\":200,\"multiValueHeaders\":{\"token\":[\"" + token + "\"]},\"headers\":{\"token\":\""
                + token + "\"},\"body\":\"" + token + "\"}";
    }

    /** What the function returns for a client. */
    private static InvokeResult result(Client client, Random random) {
        String json = json(client.token);
        if (random.nextInt(8) == 0) {
            client.mayComplete = false;
            return FakeFunction.returned(json.substring(0, random.nextInt(json.length())));
        }
        if (random.nextInt(8) == 0) {
            client.mayComplete = false;
            return new InvokeResult(200, "Unhandled", STOLEN.getBytes(CharsetUtil.UTF_8));
        }
        String surplus = SURPLUS.get(random.nextInt(SURPLUS.size()));
        client.mayComplete = surplus.isBlank();
        return FakeFunction.returned(json + surplus);
    }

    @ParameterizedTest
    @EnumSource(DirectEventFormat.class)
    void should_give_each_client_exactly_its_own_response(DirectEventFormat format) {
        Random random = new Random(format.ordinal());
        DirectOptions options = DirectOptions.builder(format).build();
        DirectShard shard = new DirectShard(
                FunctionOptions.of("f"),
                new DirectFunction("f", options, invoker),
                loop.eventLoop(),
                DispatcherObserver.NONE);
        List<Client> invoked = new ArrayList<>();
        for (int i = 0; i < REQUESTS; i++) {
            Client client = new Client("token" + i, random.nextInt(4) == 0 ? "HEAD" : "GET");
            Http2Headers head = new DefaultHttp2Headers()
                    .method(client.method)
                    .scheme("http")
                    .authority("a")
                    .path("/");
            client.request = shard.open(head, true, client, TrafficPolicy.NEUTRAL);
            invoked.add(client);
            while (invoked.size() > random.nextInt(5)) {
                int next = random.nextInt(invoked.size());
                CompletableFuture<InvokeResult> future = invoker.open.remove(next);
                Client ended = invoked.remove(next);
                boolean leaves = random.nextInt(10) == 0;
                if (leaves) {
                    ended.request.cancel(ErrorCode.CANCELLED);
                    ended.over = true;
                }
                future.complete(result(ended, random));
                loop.runPendingTasks();
                assertThat(ended.over).as(ended.token).isTrue();
            }
        }
        assertThat(complete).isGreaterThan(REQUESTS / 10);
    }
}
