package io.lambdadispatcher.core.internal.direct;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.core.internal.exchange.Failure;
import io.lambdadispatcher.core.internal.exchange.RequestSink;
import io.lambdadispatcher.core.internal.exchange.Requester;
import io.lambdadispatcher.core.internal.exchange.ResponseSink;
import io.lambdadispatcher.core.internal.pool.SilentClient;
import io.lambdadispatcher.core.observe.DispatcherObserver;
import io.lambdadispatcher.core.observe.ExchangeEnd;
import io.lambdadispatcher.core.options.DirectEventFormat;
import io.lambdadispatcher.core.options.DirectOptions;
import io.lambdadispatcher.core.options.FunctionOptions;
import io.lambdadispatcher.core.spi.FunctionInvoker;
import io.lambdadispatcher.core.spi.InvokeException;
import io.lambdadispatcher.core.testkit.RecordingObserver;
import io.lambdadispatcher.wire.worker.ErrorCode;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.channel.embedded.EmbeddedChannel;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.util.CharsetUtil;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletionException;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Direct requests on an event loop that the test runs step by step. The test decides when the
 * function answers.
 */
class DirectCallTest {
    private final EmbeddedChannel loop = new EmbeddedChannel();
    private final FakeFunction invoker = new FakeFunction(null);
    private final DirectOptions options = DirectOptions.builder(DirectEventFormat.ALB)
            .maxBodyBytes(10)
            .maxEventBytes(4096)
            .maxResponseBytes(1024)
            .maxConcurrentInvocations(2)
            .build();
    private final DirectFunction function = new DirectFunction("f", options, invoker);
    private final DirectShard shard = shard(function);
    private final Client client = new Client();

    private DirectShard shard(DirectFunction of) {
        return new DirectShard(
                FunctionOptions.builder("f")
                        .workerTimeout(Duration.ofSeconds(1))
                        .build(),
                of,
                loop.eventLoop(),
                DispatcherObserver.NONE);
    }

    private static final class Client implements ResponseSink {
        final List<String> log = new ArrayList<>();
        boolean slow;
        boolean leavesAtHead;

        @Nullable
        RequestSink request;

        @Override
        public void onInterim(Http2Headers head) {
            log.add("interim");
        }

        @Override
        public void onHead(Http2Headers head, boolean end) {
            log.add(head.status() + (end ? " end" : ""));
            if (leavesAtHead && request != null) {
                request.cancel(ErrorCode.CANCELLED);
            }
        }

        @Override
        public void onData(ByteBuf data, boolean end) {
            log.add(data.toString(CharsetUtil.UTF_8) + (end ? " end" : ""));
            int bytes = data.readableBytes();
            data.release();
            if (!slow && request != null) {
                request.responseTaken(bytes);
            }
        }

        @Override
        public void onTrailers(Http2Headers trailers) {
            log.add("trailers");
        }

        @Override
        public void onFailure(Failure failure) {
            log.add(failure.kind() + " " + failure.kind().status().code());
        }

        @Override
        public void onRequestTaken(int bytes) {
            log.add("taken " + bytes);
        }
    }

    @BeforeEach
    void freeze() {
        loop.freezeTime();
    }

    private RequestSink open(String method, boolean end) {
        RequestSink request = shard.open(head(method), end, client);
        client.request = request;
        return request;
    }

    private static Http2Headers head(String method) {
        return new DefaultHttp2Headers()
                .method(method)
                .scheme("http")
                .authority("a")
                .path("/");
    }

    private static ByteBuf bytes(int count) {
        return ByteBufAllocator.DEFAULT.buffer().writeZero(count);
    }

    private void complete(String json) {
        invoker.open.get(0).complete(FakeFunction.returned(json));
        loop.runPendingTasks();
    }

    private void assertOver() {
        assertThat(function.calls()).isZero();
    }

    @Test
    void should_invoke_with_no_body_that_lacks_the_part_that_was_too_large() {
        RequestSink request = open("POST", false);

        request.data(bytes(11), false);
        request.data(bytes(3), true);

        assertThat(client.log).containsExactly("TOO_LARGE 413");
        assertThat(invoker.open).isEmpty();
        assertOver();
    }

    @Test
    void should_answer_with_what_the_function_returned() {
        open("GET", true);
        assertThat(client.log).isEmpty();

        complete("{\"statusCode\":201,\"body\":\"made\"}");

        assertThat(client.log).containsExactly("201", "made end");
        assertOver();
    }

    @Test
    void should_count_the_time_for_which_the_function_runs() {
        open("GET", true);
        loop.advanceTimeBy(300, TimeUnit.MILLISECONDS);
        complete("{\"statusCode\":201}");
        RequestSink cancelled = open("GET", true);
        loop.advanceTimeBy(200, TimeUnit.MILLISECONDS);
        cancelled.cancel(ErrorCode.CANCELLED);
        loop.advanceTimeBy(400, TimeUnit.MILLISECONDS);
        invoker.open.get(1).complete(FakeFunction.returned("{\"statusCode\":201}"));

        assertThat(function.invokedNanos()).isEqualTo(TimeUnit.MILLISECONDS.toNanos(900));
    }

    @Test
    void should_give_the_window_back_while_it_gathers_and_invoke_at_the_end() {
        RequestSink request = open("POST", false);
        request.data(bytes(4), false);
        request.data(bytes(6), false);
        assertThat(client.log).containsExactly("taken 4", "taken 6");
        assertThat(invoker.invoked).isEmpty();

        request.data(bytes(0), true);

        assertThat(invoker.invoked).containsExactly("f");
        complete("{\"statusCode\":204}");
        assertThat(client.log).containsExactly("taken 4", "taken 6", "taken 0", "204 end");
        assertOver();
    }

    @Test
    void should_invoke_at_the_trailers() {
        RequestSink request = open("POST", false);
        request.data(bytes(1), false);
        request.trailers(new DefaultHttp2Headers().add("a", "b"));

        assertThat(invoker.invoked).hasSize(1);
        complete("{\"statusCode\":200}");
        assertOver();
    }

    @Test
    void should_refuse_the_first_byte_too_many() {
        RequestSink request = open("POST", false);
        request.data(bytes(10), false);
        request.data(bytes(1), false);
        request.data(bytes(1), true);

        assertThat(client.log).containsExactly("taken 10", "TOO_LARGE 413");
        assertThat(invoker.invoked).isEmpty();
        assertOver();
    }

    @Test
    void should_refuse_a_body_that_is_announced_as_too_large_before_it_comes() {
        shard.open(head("POST").addInt("content-length", 11), false, client).data(bytes(3), false);

        assertThat(client.log).containsExactly("TOO_LARGE 413");
        assertOver();
    }

    @Test
    void should_refuse_an_event_that_is_too_large_though_its_body_is_not() {
        shard.open(head("GET").add("x", "x".repeat(5000)), true, client);

        assertThat(client.log).containsExactly("TOO_LARGE 413");
        assertThat(invoker.invoked).isEmpty();
        assertOver();
    }

    @ParameterizedTest
    @CsvSource({"992, '200'", "993, BAD_RESPONSE 502"})
    void should_refuse_a_response_of_one_byte_too_many(int bodyBytes, String seen) {
        String frame = "{\"statusCode\":200,\"body\":\"\"}    ";
        assertThat(frame).hasSize(32);
        open("GET", true);

        complete(frame.replace("\"\"", "\"" + "x".repeat(bodyBytes) + "\""));

        assertThat(client.log.get(0)).isEqualTo(seen);
        assertOver();
    }

    @Test
    void should_answer_502_for_a_function_that_failed_and_not_tell_why() {
        open("GET", true);
        invoker.open
                .get(0)
                .complete(new FunctionInvoker.InvokeResult(
                        200,
                        "Unhandled",
                        "{\"statusCode\":200,\"errorMessage\":\"secret\"}".getBytes(CharsetUtil.UTF_8)));
        loop.runPendingTasks();

        assertThat(client.log).containsExactly("FUNCTION_FAILED 502");
        assertOver();
    }

    @Test
    void should_answer_502_for_a_response_that_is_none() {
        open("GET", true);
        complete("\"hello\"");

        assertThat(client.log).containsExactly("BAD_RESPONSE 502");
        assertOver();
    }

    @ParameterizedTest
    @CsvSource({
        "THROTTLED, THROTTLED 503",
        "NOT_FOUND, INVOKE_FAILED 502",
        "REFUSED, INVOKE_FAILED 502",
        "TOO_LARGE, TOO_LARGE 413",
        "TIMED_OUT, TIMEOUT 504",
        "UNAVAILABLE, INVOKE_FAILED 502"
    })
    void should_answer_by_the_reason_why_there_is_no_result(InvokeException.Reason reason, String seen) {
        open("GET", true);
        InvokeException error = new InvokeException(reason, "test", null);
        invoker.open.get(0).completeExceptionally(new CompletionException(error));
        loop.runPendingTasks();

        assertThat(client.log).containsExactly(seen);
        assertOver();
    }

    /** Only an attempt of a request that waits for a worker again counts as none. */
    @Test
    void should_count_the_attempt_of_a_throttled_request_that_no_worker_can_serve() {
        RecordingObserver observer = new RecordingObserver();
        new DirectShard(FunctionOptions.builder("f").build(), function, loop.eventLoop(), observer)
                .open(head("GET"), true, client);
        invoker.open.get(0).completeExceptionally(new InvokeException(InvokeException.Reason.THROTTLED, "test", null));
        loop.runPendingTasks();

        assertThat(client.log).containsExactly("THROTTLED 503");
        assertThat(observer.ends).singleElement().returns(1, ExchangeEnd::attempts);
        assertOver();
    }

    private RequestSink openPatiently() {
        loop.freezeTime();
        return new DirectShard(
                        FunctionOptions.builder("f").build(), function, loop.eventLoop(), DispatcherObserver.NONE)
                .open(head("GET"), true, client);
    }

    private void notReady() {
        invoker.open
                .get(invoker.open.size() - 1)
                .completeExceptionally(new InvokeException(InvokeException.Reason.NOT_READY, "Pending", null));
        loop.runPendingTasks();
    }

    private void pass(long millis) {
        loop.advanceTimeBy(millis, TimeUnit.MILLISECONDS);
        loop.runScheduledPendingTasks();
    }

    @Test
    void should_wait_for_a_function_that_is_being_prepared() {
        openPatiently();
        for (int asked = 1; asked <= 3; asked++) {
            assertThat(invoker.open).hasSize(asked);
            notReady();
            pass(2500);
        }
        assertThat(client.log).isEmpty();
        invoker.open.get(3).complete(FakeFunction.returned("{\"statusCode\":200}"));
        loop.runPendingTasks();
        assertThat(client.log).containsExactly("200 end");
        assertOver();
    }

    @Test
    void should_give_up_on_a_function_that_is_being_prepared_for_longer_than_the_queue_timeout() {
        openPatiently();
        int millis = 0;
        int asked = 0;
        for (; client.log.isEmpty() && millis < 60_000; millis += 10) {
            if (invoker.open.size() > asked) {
                asked++;
                notReady();
            }
            pass(10);
        }
        assertThat(client.log).containsExactly("QUEUE_TIMEOUT 503");
        assertThat(millis).isBetween(9_900, 10_100);
        assertThat(asked).isBetween(5, 60);
        assertOver();
    }

    @Test
    void should_not_ask_again_for_a_client_that_has_left() {
        RequestSink request = openPatiently();
        notReady();
        request.cancel(ErrorCode.CANCELLED);
        assertOver();
        pass(10_000);
        assertThat(invoker.open).hasSize(1);
    }

    @Test
    void should_answer_for_an_invoker_that_throws() {
        assertAnswered(new DirectFunction("f", options, (name, event) -> {
            throw new IllegalStateException("closed");
        }));
    }

    private void assertAnswered(DirectFunction throwing) {
        shard(throwing).open(head("GET"), true, client);

        assertThat(client.log).containsExactly("INVOKE_FAILED 502");
        assertThat(throwing.calls()).isZero();
    }

    /** For example if the invoker's libraries do not fit together. */
    @Test
    void should_answer_for_an_invoker_that_throws_an_error() {
        assertAnswered(new DirectFunction("f", options, (name, event) -> {
            throw new NoSuchMethodError("of the test");
        }));
    }

    @Test
    void should_answer_for_an_invoker_that_returns_null() {
        assertAnswered(new DirectFunction("f", options, (name, event) -> null));
    }

    /** Lambda cannot end an invocation, so clients that go could begin any number. */
    @Test
    void should_count_an_invocation_until_it_ends_although_the_client_goes() {
        RequestSink gathering = open("POST", false);
        gathering.data(bytes(7), false);
        gathering.cancel(ErrorCode.CANCELLED);
        RequestSink invoked = open("GET", true);
        invoked.cancel(ErrorCode.CANCELLED);

        assertThat(function.calls()).isEqualTo(1);
        open("GET", true).cancel(ErrorCode.CANCELLED);
        open("GET", true);
        assertThat(client.log).containsExactly("taken 7", "QUEUE_FULL 503");

        invoker.open.get(0).complete(FakeFunction.returned("{\"statusCode\":200}"));
        invoker.open.get(1).completeExceptionally(new IllegalStateException("of the test"));
        loop.runPendingTasks();
        assertThat(client.log).hasSize(2);
        assertOver();
    }

    /** A response that cannot be read for lack of memory, for example. */
    @Test
    void should_answer_if_the_reading_of_a_response_throws() {
        open("GET", true);
        invoker.open.get(0).complete(new FunctionInvoker.InvokeResult(200, null, null));
        loop.runPendingTasks();

        assertThat(client.log).containsExactly("INVOKE_FAILED 502");
        assertOver();
    }

    @Test
    void should_ignore_what_the_function_returns_after_the_client_has_gone() {
        RequestSink request = open("GET", true);
        invoker.open.get(0).complete(FakeFunction.returned("{\"statusCode\":200,\"body\":\"late\"}"));
        request.cancel(ErrorCode.CANCELLED);
        loop.runPendingTasks();

        assertThat(client.log).isEmpty();
        assertOver();
    }

    @Test
    void should_answer_504_at_the_time_out_and_count_the_invocation_until_it_ends() {
        open("GET", true);
        loop.advanceTimeBy(999, TimeUnit.MILLISECONDS);
        loop.runScheduledPendingTasks();
        assertThat(client.log).isEmpty();

        loop.advanceTimeBy(1, TimeUnit.MILLISECONDS);
        loop.runScheduledPendingTasks();

        assertThat(client.log).containsExactly("TIMEOUT 504");
        assertThat(function.calls()).isEqualTo(1);
        complete("{\"statusCode\":200}");
        assertThat(client.log).hasSize(1);
        assertOver();
    }

    @Test
    void should_answer_503_for_all_that_are_left_when_the_dispatcher_closes() {
        open("GET", true);
        open("POST", false).data(bytes(7), false);

        shard.failAll(new Failure(Failure.Kind.SHUTTING_DOWN, "test"));

        assertThat(client.log).containsExactly("taken 7", "SHUTTING_DOWN 503", "SHUTTING_DOWN 503");
        complete("{\"statusCode\":200}");
        assertThat(client.log).hasSize(3);
        assertOver();
    }

    @Test
    void should_have_no_more_calls_at_once_than_it_may() {
        open("GET", true);
        open("GET", true);
        open("GET", true);
        assertThat(client.log).containsExactly("QUEUE_FULL 503");

        complete("{\"statusCode\":204}");
        open("GET", true);

        assertThat(client.log).containsExactly("QUEUE_FULL 503", "204 end");
        assertThat(function.calls()).isEqualTo(2);
    }

    @Test
    void should_take_a_call_only_for_a_body_that_is_whole() {
        RequestSink first = open("POST", false);
        first.data(bytes(3), false);
        open("POST", false);
        assertThat(function.calls()).isZero();

        open("GET", true);
        open("GET", true);
        first.data(bytes(3), true);

        assertThat(invoker.open).hasSize(2);
        assertThat(client.log).containsExactly("taken 3", "QUEUE_FULL 503");
    }

    @ParameterizedTest
    @ValueSource(ints = {2, 4, 20})
    void should_let_one_client_begin_half_of_all_bodies(int max) {
        DirectFunction wide = new DirectFunction(
                "wide",
                DirectOptions.builder(DirectEventFormat.ALB)
                        .maxConcurrentInvocations(max)
                        .build(),
                invoker);
        DirectShard wideShard = shard(wide);
        List<RequestSink> begun = new ArrayList<>();
        for (int i = 0; i < max; i++) {
            begun.add(wideShard.open(head("POST"), false, new NamedClient("attacker", client.log)));
        }
        assertThat(client.log).hasSize(max / 2).containsOnly("QUEUE_FULL 503");

        wideShard.open(head("POST"), false, new NamedClient("polite", client.log));
        assertThat(client.log).hasSize(max / 2);
        begun.get(0).data(bytes(0), true);
        assertThat(wide.calls()).isEqualTo(1);
        wideShard.open(head("POST"), false, new NamedClient("attacker", client.log));
        assertThat(client.log).hasSize(max / 2);
    }

    @Test
    void should_leave_a_function_its_calls_whatever_another_has() {
        DirectFunction other = new DirectFunction("other", options, invoker);
        open("GET", true);
        open("GET", true);

        shard(other).open(head("GET"), true, client);

        assertThat(client.log).isEmpty();
        assertThat(other.calls()).isEqualTo(1);
    }

    private static final class NamedClient extends SilentClient {
        private final String name;
        private final List<String> log;

        NamedClient(String name, List<String> log) {
            this.name = name;
            this.log = log;
        }

        @Override
        public Requester requester() {
            return Requester.named(name);
        }

        @Override
        public void onFailure(Failure failure) {
            log.add(failure.kind() + " " + failure.kind().status().code());
        }
    }

    /**
     * Otherwise, clients that read slowly would keep any number of complete responses in memory.
     */
    @Test
    void should_count_a_call_until_the_client_has_taken_the_response() {
        client.slow = true;
        RequestSink request = open("GET", true);
        complete("{\"statusCode\":200,\"body\":\"12345\"}");
        request.responseTaken(3);
        assertThat(function.calls()).isEqualTo(1);

        request.responseTaken(2);

        assertOver();
    }

    @Test
    void should_count_a_call_off_once_when_the_client_goes_at_the_head() {
        client.leavesAtHead = true;
        open("GET", true);
        complete("{\"statusCode\":200,\"body\":\"12345\"}");

        assertThat(client.log).containsExactly("200");
        assertOver();
    }
}
