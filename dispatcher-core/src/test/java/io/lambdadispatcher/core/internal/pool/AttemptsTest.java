package io.lambdadispatcher.core.internal.pool;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.core.internal.exchange.Attempt;
import io.lambdadispatcher.core.internal.exchange.Carrier;
import io.lambdadispatcher.core.internal.exchange.DiscardingSink;
import io.lambdadispatcher.core.internal.exchange.Exchange;
import io.lambdadispatcher.core.internal.exchange.Failure;
import io.lambdadispatcher.core.internal.exchange.RequestSink;
import io.lambdadispatcher.core.observe.ExchangeEnd;
import io.lambdadispatcher.core.observe.ExtraAttempt;
import io.lambdadispatcher.core.observe.Outcome;
import io.lambdadispatcher.core.observe.RetryDenial;
import io.lambdadispatcher.core.options.AttemptPolicy;
import io.lambdadispatcher.core.options.DeadlinePolicy;
import io.lambdadispatcher.core.options.FunctionOptions;
import io.lambdadispatcher.core.options.RetryCondition;
import io.lambdadispatcher.core.options.TrafficPolicy;
import io.lambdadispatcher.core.testkit.RecordingObserver;
import io.lambdadispatcher.core.testkit.RecordingObserver.FailedAttempt;
import io.lambdadispatcher.wire.worker.ErrorCode;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.embedded.EmbeddedChannel;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.Http2Headers;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Retries, hedges and deadlines of a pool over two event loops that the test runs step by step. */
class AttemptsTest extends OnTwoLoops {
    private static final Failure GONE = new Failure(Failure.Kind.WORKER_LOST, "gone");

    private static final TrafficPolicy RETRIES =
            TrafficPolicy.builder().attempts(attempts().maxAttempts(3).build()).build();
    private static final TrafficPolicy HEDGES = TrafficPolicy.builder()
            .attempts(
                    attempts().maxAttempts(3).hedgeAfter(Duration.ofMillis(20)).build())
            .build();
    private static final TrafficPolicy DEADLINES = TrafficPolicy.builder()
            .deadline(DeadlinePolicy.builder()
                    .limit(Duration.ofMillis(200))
                    .header("grpc-timeout")
                    .build())
            .build();

    private static AttemptPolicy.Builder attempts() {
        return AttemptPolicy.builder()
                .retryOn(EnumSet.allOf(RetryCondition.class))
                .perTryTimeout(Duration.ofMillis(50));
    }

    private final RecordingObserver observer = new RecordingObserver();
    private final FunctionPool pool = new FunctionPool(
            FunctionOptions.builder("f")
                    .queue(10, Duration.ofSeconds(5))
                    .workerTimeout(Duration.ofSeconds(1))
                    .build(),
            eventLoops(),
            observer);
    private final PoolShard here = pool.shard(0);
    private final PoolShard there = pool.shard(1);
    private final Client client = new Client();

    @AfterEach
    void nothingIsLeft() {
        assertThat(pool.pending()).isZero();
        assertThat(here.isQuiet()).isTrue();
        assertThat(here.timers().size()).isZero();
    }

    /** A worker with one stream, which records the requests that it carries. */
    private static final class Worker implements Carrier, RequestSink {
        final PoolShard shard;
        final PooledConnection member;
        final List<String> log = new ArrayList<>();
        final StringBuilder body = new StringBuilder();

        @Nullable
        Http2Headers head;

        @Nullable
        Attempt attempt;

        /** Called once, inside the next call. */
        @Nullable
        Runnable duringCarry;

        @Nullable
        Runnable duringData;

        boolean takesData = true;

        Worker(PoolShard shard, String id) {
            this.shard = shard;
            this.member = new PooledConnection(id);
            shard.workers().onMember(member);
            shard.workers().onStreamOpened(member, this);
            shard.workers().setOpen(member, true);
        }

        @Override
        public RequestSink carry(Http2Headers headers, boolean end, int timeoutMillis, Attempt forAttempt) {
            assertThat(attempt).isNull();
            attempt = forAttempt;
            head = headers;
            log.add("carry " + timeoutMillis);
            Runnable during = duringCarry;
            duringCarry = null;
            if (during != null) {
                during.run();
            }
            return this;
        }

        private Attempt take() {
            Attempt current = attempt;
            attempt = null;
            assertThat(current).as("carries nothing").isNotNull();
            return current;
        }

        void respond(int status) {
            take().onHead(new DefaultHttp2Headers().status(Integer.toString(status)), true);
            shard.workers().onStreamFree(member, this);
        }

        /** The response begins, and its body follows. */
        Attempt begin(int status) {
            Attempt current = attempt;
            current.onHead(new DefaultHttp2Headers().status(Integer.toString(status)), false);
            return current;
        }

        void lose() {
            Attempt current = take();
            shard.workers().setOpen(member, false);
            shard.workers().onStreamClosed(member, this, false);
            current.onLost(GONE);
        }

        void fail(Failure.Kind kind) {
            take().onFailure(new Failure(kind, "failed"));
            shard.workers().onStreamFree(member, this);
        }

        void refuse() {
            Attempt current = take();
            current.onRefused(GONE);
            shard.workers().onStreamFree(member, this);
        }

        @Override
        public void data(ByteBuf data, boolean end) {
            body.append(data.toString(java.nio.charset.StandardCharsets.US_ASCII))
                    .append(end ? "." : "");
            int bytes = data.readableBytes();
            data.release();
            Runnable during = duringData;
            duringData = null;
            if (during != null) {
                during.run();
            }
            if (attempt != null && takesData) {
                attempt.onRequestTaken(bytes);
            }
        }

        @Override
        public void trailers(Http2Headers trailers) {
            body.append(" trailers");
        }

        @Override
        public void cancel(ErrorCode code) {
            if (attempt != null) {
                attempt = null;
                log.add("cancel " + code);
                shard.workers().onStreamFree(member, this);
            }
        }

        @Override
        public void responseTaken(int bytes) {
            log.add("taken " + bytes);
        }

        @Override
        public String workerId() {
            return member.workerId();
        }
    }

    private static final class Client extends SilentClient {
        final List<String> log = new ArrayList<>();
        int taken;
        int retryAfterSeconds;
        Runnable duringTaken = () -> {};

        @Override
        public void onHead(Http2Headers head, boolean end) {
            log.add(head.status() + (end ? " end" : ""));
        }

        @Override
        public void onData(ByteBuf data, boolean end) {
            log.add("data " + data.readableBytes() + (end ? " end" : ""));
            data.release();
        }

        @Override
        public void onFailure(Failure failure) {
            log.add(failure.kind().token());
            retryAfterSeconds = failure.retryAfterSeconds();
        }

        @Override
        public void onRequestTaken(int bytes) {
            taken += bytes;
            duringTaken.run();
        }
    }

    private static Http2Headers head(String method) {
        return new DefaultHttp2Headers()
                .method(method)
                .scheme("http")
                .authority("a")
                .path("/");
    }

    private Exchange get(TrafficPolicy policy) {
        Exchange exchange = here.open(head("GET"), true, client, policy);
        turn();
        return exchange;
    }

    private ExchangeEnd end() {
        assertThat(observer.ends).hasSize(1);
        return observer.ends.element();
    }

    private PoolShard shard(boolean away) {
        return away ? there : here;
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void should_send_a_request_to_another_worker_after_the_attempt_timeout(boolean away) {
        Worker first = new Worker(shard(away), "w1");
        get(RETRIES);
        turn();
        Worker second = new Worker(shard(away), "w2");
        pass(49);
        assertThat(second.log).isEmpty();
        pass(1);
        assertThat(first.log).containsExactly("carry 1000", "cancel TIMEOUT");
        assertThat(second.log).containsExactly("carry 950");
        second.respond(200);
        turn();
        assertThat(client.log).containsExactly("200 end");
        assertThat(observer.failedAttempts).containsExactly(new FailedAttempt(1, "w1", "attempt_timeout"));
        assertThat(end().attempts()).isEqualTo(2);
        assertThat(end().extraAttempts(ExtraAttempt.TIMEOUT)).isEqualTo(1);
        assertThat(end().workerId()).isEqualTo("w2");
    }

    /** Its stream is free again, so the retry could go to it. */
    @Test
    void should_avoid_every_worker_that_was_tried() {
        Worker first = new Worker(here, "w1");
        Worker second = new Worker(here, "w2");
        Worker third = new Worker(there, "w3");
        get(RETRIES);
        first.respond(503);
        second.respond(502);
        turn();
        assertThat(client.log).isEmpty();
        third.respond(504);
        turn();
        assertThat(client.log).containsExactly("504 end");
        assertThat(observer.failedAttempts)
                .containsExactly(new FailedAttempt(1, "w1", "503"), new FailedAttempt(2, "w2", "502"));
        assertThat(end().retryDenial()).isEqualTo(RetryDenial.MAX_ATTEMPTS);
        assertThat(end().extraAttempts(ExtraAttempt.STATUS)).isEqualTo(2);
    }

    /** Without a retry, the client would get 500. */
    @ParameterizedTest
    @EnumSource(names = {"HANDLER_FAILED", "HANDLER_CANCELLED"})
    void should_send_a_request_to_another_worker_if_its_handler_fails(Failure.Kind kind) {
        Worker first = new Worker(here, "w1");
        Worker second = new Worker(here, "w2");
        Worker third = new Worker(there, "w3");
        get(RETRIES);
        first.fail(kind);
        turn();
        second.respond(500);
        turn();
        third.respond(200);
        turn();
        assertThat(client.log).containsExactly("200 end");
        assertThat(observer.failedAttempts)
                .containsExactly(new FailedAttempt(1, "w1", kind.token()), new FailedAttempt(2, "w2", "500"));
        assertThat(end().extraAttempts(ExtraAttempt.STATUS)).isEqualTo(2);
        assertThat(end().waitReason()).as("was queued").isNull();
    }

    @Test
    void should_repeat_a_request_whose_handler_fails_before_the_end_of_the_body() {
        Worker first = new Worker(here, "w1");
        Worker second = new Worker(here, "w2");
        Exchange exchange = here.open(head("PUT"), false, client, RETRIES);
        exchange.data(Unpooled.copiedBuffer("abc".getBytes()), false);
        first.fail(Failure.Kind.HANDLER_FAILED);
        exchange.data(Unpooled.copiedBuffer("de".getBytes()), true);
        assertThat(first.body).hasToString("abc");
        assertThat(second.body).hasToString("abcde.");
        second.respond(200);
        assertThat(client.log).containsExactly("200 end");
        assertThat(client.taken).isEqualTo(5);
    }

    /** The client's window no longer counts what the first worker has taken. */
    @Test
    void should_count_the_memory_of_a_body_that_waits_for_another_attempt() {
        Worker first = new Worker(here, "w1");
        Exchange exchange = here.open(head("PUT"), false, client, RETRIES);
        long without = exchange.heldBytes();
        exchange.data(Unpooled.wrappedBuffer(new byte[100_000]), true);
        assertThat(client.taken).isEqualTo(100_000);
        assertThat(exchange.heldBytes()).isEqualTo(without + 100_000);
        first.lose();
        assertThat(exchange.heldBytes()).isEqualTo(without + 100_000);
        Worker second = new Worker(here, "w2");
        turn();
        assertThat(second.body).hasSize(100_001);
        assertThat(exchange.heldBytes()).isEqualTo(without + 100_000);
        second.respond(200);
        assertThat(client.log).containsExactly("200 end");
    }

    @Test
    void should_keep_nothing_of_a_body_when_the_response_has_begun() {
        Worker worker = new Worker(here, "w1");
        Exchange exchange = here.open(head("PUT"), false, client, RETRIES);
        long without = exchange.heldBytes();
        exchange.data(Unpooled.wrappedBuffer(new byte[100_000]), true);
        assertThat(exchange.heldBytes()).isEqualTo(without + 100_000);
        worker.begin(200);
        assertThat(exchange.heldBytes()).isEqualTo(without);
        exchange.cancel(ErrorCode.CANCELLED);
    }

    /** It is not the client that has given up. */
    @Test
    void should_report_a_failure_if_a_filter_cannot_pass_the_response_on() {
        Worker worker = new Worker(here, "w1");
        Exchange exchange = get(RETRIES);
        worker.begin(200);
        exchange.cancel(ErrorCode.INTERNAL);
        assertThat(worker.log).containsExactly("carry 1000", "cancel INTERNAL");
        assertThat(end().outcome()).isEqualTo(Outcome.FAILED);
        assertThat(end().failure()).isEqualTo("bad_response");
        assertThat(client.log).containsExactly("200");
    }

    @Test
    void should_not_count_the_time_in_which_the_client_sends_the_body() {
        Worker first = new Worker(here, "w1");
        Worker second = new Worker(here, "w2");
        Exchange exchange = here.open(head("PUT"), false, client, RETRIES);
        exchange.data(Unpooled.copiedBuffer("abc".getBytes()), false);
        pass(100);
        exchange.data(Unpooled.copiedBuffer("de".getBytes()), true);
        pass(49);
        assertThat(first.log).containsExactly("carry 1000");
        pass(1);
        assertThat(first.log).containsExactly("carry 1000", "cancel TIMEOUT");
        assertThat(second.body).hasToString("abcde.");
        second.respond(200);
        assertThat(client.log).containsExactly("200 end");
    }

    /** As when there is no memory to send a part of a body that was complete before. */
    @Test
    void should_send_the_whole_body_again_if_a_part_of_it_cannot_be_sent() {
        Worker first = new Worker(here, "w1");
        Worker second = new Worker(here, "w2");
        get(RETRIES);
        get(RETRIES);
        Exchange exchange = here.open(head("PUT"), false, new Client(), RETRIES);
        String part = "x".repeat(9_000);
        exchange.data(Unpooled.copiedBuffer(part.getBytes()), false);
        exchange.data(Unpooled.copiedBuffer(part.getBytes()), true);
        first.duringData = () -> {
            second.respond(200);
            first.lose();
        };
        first.respond(200);
        assertThat(second.body).hasToString(part + part + ".");
        second.respond(200);
        assertThat(observer.ends).hasSize(3);
    }

    @Test
    void should_cancel_the_worker_that_has_the_request_after_one_refuses_it_immediately() {
        Worker first = new Worker(here, "w1");
        Worker second = new Worker(here, "w2");
        first.duringCarry = first::refuse;
        second.duringCarry = second::refuse;
        Exchange exchange = get(RETRIES);
        List<Worker> carrying = List.of(first, second).stream()
                .filter(each -> each.attempt != null)
                .toList();
        assertThat(carrying).isNotEmpty();
        exchange.cancel(ErrorCode.CANCELLED);
        assertThat(first.attempt).isNull();
        assertThat(second.attempt).isNull();
    }

    /** The handler of the first attempt may have had an effect. The second one is not sent. */
    @Test
    void should_not_invite_the_client_to_repeat_what_cannot_be_sent_again() {
        Worker first = new Worker(here, "w1");
        get(RETRIES);
        Worker second = new Worker(here, "w2");
        second.duringCarry = () -> second.fail(Failure.Kind.OVERLOADED);
        first.lose();
        assertThat(client.log).containsExactly("overloaded");
        assertThat(client.retryAfterSeconds).isZero();
    }

    /** The handler of the first attempt may have had an effect. */
    @Test
    void should_not_invite_the_client_to_repeat_what_a_worker_may_have_done() {
        Worker worker = new Worker(here, "w1");
        get(RETRIES);
        worker.lose();
        pass(5_000);
        turn();
        assertThat(client.log).containsExactly("queue_timeout");
        assertThat(client.retryAfterSeconds).isZero();

        get(RETRIES);
        pass(5_000);
        turn();
        assertThat(client.log).containsExactly("queue_timeout", "queue_timeout");
        assertThat(client.retryAfterSeconds).isEqualTo(1);
    }

    @Test
    void should_pass_on_that_the_handler_failed_unless_500_is_retried() {
        AttemptPolicy others = AttemptPolicy.builder()
                .retryOn(EnumSet.complementOf(EnumSet.of(RetryCondition.STATUS_500)))
                .build();
        Worker first = new Worker(here, "w1");
        new Worker(here, "w2");
        get(TrafficPolicy.builder().attempts(others).build());
        first.fail(Failure.Kind.HANDLER_FAILED);
        assertThat(client.log).containsExactly("handler_failed");
        assertThat(end().retryDenial()).isNull();
    }

    @Test
    void should_pass_on_that_the_handler_failed_after_the_response_began() {
        Worker first = new Worker(here, "w1");
        new Worker(here, "w2");
        get(RETRIES);
        first.begin(200);
        first.fail(Failure.Kind.HANDLER_FAILED);
        assertThat(client.log).containsExactly("200", "handler_failed");
        assertThat(end().retryDenial()).isNull();
    }

    @Test
    void should_drop_the_body_of_a_response_that_is_retried() {
        Worker first = new Worker(there, "w1");
        get(RETRIES);
        turn();
        Attempt answered = first.begin(503);
        ByteBuf body = Unpooled.copiedBuffer(new byte[5]);
        answered.onData(body, true);
        Worker second = new Worker(here, "w2");
        turn();
        assertThat(body.refCnt()).isZero();
        assertThat(second.log).containsExactly("carry 1000");
        second.respond(200);
        assertThat(client.log).containsExactly("200 end");
    }

    @Test
    void should_pass_on_a_status_if_the_method_is_not_idempotent() {
        Worker first = new Worker(here, "w1");
        new Worker(here, "w2");
        here.open(head("POST"), true, client, RETRIES);
        first.respond(503);
        assertThat(client.log).containsExactly("503 end");
        assertThat(end().retryDenial()).isEqualTo(RetryDenial.NOT_IDEMPOTENT);
    }

    @Test
    void should_repeat_a_post_with_an_idempotency_key_and_its_body() {
        Worker first = new Worker(here, "w1");
        Worker second = new Worker(here, "w2");
        Exchange exchange = here.open(head("POST").add("idempotency-key", "7"), false, client, RETRIES);
        exchange.data(Unpooled.copiedBuffer("abc".getBytes()), false);
        exchange.data(Unpooled.copiedBuffer("de".getBytes()), true);
        first.respond(503);
        assertThat(second.body).hasToString("abcde.");
        second.respond(201);
        assertThat(client.log).containsExactly("201 end");
        assertThat(client.taken).isEqualTo(5);
    }

    @Test
    void should_wait_on_if_the_attempt_timeout_passes_and_the_budget_is_used_up() {
        pool.setOptions(FunctionOptions.builder("f").retryBudget(0).build());
        here.setOptions(pool.options());
        Worker first = new Worker(here, "w1");
        new Worker(here, "w2");
        get(RETRIES);
        pass(60);
        assertThat(first.log).containsExactly("carry 900000");
        first.respond(200);
        assertThat(client.log).containsExactly("200 end");
        assertThat(end().retryDenial()).isEqualTo(RetryDenial.BUDGET);
    }

    @Test
    void should_not_retry_slow_attempts_while_requests_are_queued() {
        Worker first = new Worker(here, "w1");
        get(RETRIES);
        here.open(head("GET"), true, new Client(), TrafficPolicy.NEUTRAL);
        pass(60);
        assertThat(first.log).containsExactly("carry 1000");
        first.respond(200);
        assertThat(observer.ends.element().retryDenial()).isEqualTo(RetryDenial.QUEUED);
        first.respond(200);
    }

    // Hedges.

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void should_take_the_answer_of_the_hedge_and_cancel_the_first_attempt(boolean away) {
        Worker first = new Worker(here, "w1");
        get(HEDGES);
        Worker second = new Worker(shard(away), "w2");
        pass(19);
        assertThat(second.log).isEmpty();
        pass(1);
        assertThat(second.log).containsExactly("carry 980");
        assertThat(first.log).containsExactly("carry 1000");
        second.respond(200);
        turn();
        assertThat(first.log).containsExactly("carry 1000", "cancel CANCELLED");
        assertThat(client.log).containsExactly("200 end");
        assertThat(observer.failedAttempts).containsExactly(new FailedAttempt(1, "w1", "slower"));
        assertThat(end().workerId()).isEqualTo("w2");
        assertThat(end().headers()).isSameAs(second.head);
        assertThat(end().extraAttempts(ExtraAttempt.HEDGE)).isEqualTo(1);
        assertThat(end().attempts()).isEqualTo(2);
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void should_take_the_answer_of_the_first_attempt_and_cancel_the_hedge(boolean away) {
        Worker first = new Worker(here, "w1");
        Worker second = new Worker(shard(away), "w2");
        get(HEDGES);
        pass(20);
        first.respond(200);
        turn();
        assertThat(second.log).containsExactly("carry 980", "cancel CANCELLED");
        assertThat(client.log).containsExactly("200 end");
        assertThat(observer.failedAttempts).containsExactly(new FailedAttempt(2, "w2", "slower"));
        assertThat(end().workerId()).isEqualTo("w1");
    }

    @Test
    void should_stream_the_answer_of_a_hedge_and_give_its_bytes_back() {
        new Worker(here, "w1");
        Worker second = new Worker(there, "w2");
        Exchange exchange = get(HEDGES);
        pass(20);
        Attempt answered = second.begin(200);
        answered.onData(Unpooled.copiedBuffer(new byte[3]), false);
        turn();
        exchange.responseTaken(3);
        turn();
        answered.onData(Unpooled.copiedBuffer(new byte[4]), true);
        turn();
        assertThat(client.log).containsExactly("200", "data 3", "data 4 end");
        assertThat(second.log).containsExactly("carry 980", "taken 3");
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void should_continue_with_the_hedge_if_the_first_attempt_is_lost(boolean away) {
        Worker first = new Worker(here, "w1");
        Worker second = new Worker(shard(away), "w2");
        get(HEDGES);
        pass(20);
        first.lose();
        assertThat(client.log).isEmpty();
        second.respond(200);
        turn();
        assertThat(client.log).containsExactly("200 end");
        assertThat(observer.failedAttempts).containsExactly(new FailedAttempt(1, "w1", "worker_lost"));
        assertThat(end().attempts()).isEqualTo(2);
    }

    @Test
    void should_send_a_request_again_if_all_attempts_under_way_are_lost() {
        Worker first = new Worker(here, "w1");
        Worker second = new Worker(here, "w2");
        Worker third = new Worker(there, "w3");
        get(HEDGES);
        pass(20);
        first.lose();
        second.lose();
        turn();
        third.respond(200);
        turn();
        assertThat(client.log).containsExactly("200 end");
        assertThat(observer.failedAttempts)
                .containsExactly(new FailedAttempt(1, "w1", "worker_lost"), new FailedAttempt(2, "w2", "worker_lost"));
    }

    /** As often as the policy allows, each time after the same delay. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void should_begin_one_attempt_after_the_other_while_none_answers(boolean away) {
        Worker first = new Worker(here, "w1");
        Worker second = new Worker(shard(away), "w2");
        Worker third = new Worker(shard(away), "w3");
        Worker fourth = new Worker(here, "w4");
        get(HEDGES);
        pass(20);
        pass(19);
        List<Worker> others = List.of(second, third, fourth);
        assertThat(others).filteredOn(each -> each.attempt != null).hasSize(1);
        pass(1);
        pass(100);
        List<Worker> begun =
                others.stream().filter(each -> each.attempt != null).toList();
        assertThat(begun).hasSize(2);
        Worker last = begun.stream()
                .filter(each -> each.log.contains("carry 960"))
                .findAny()
                .orElseThrow();
        last.respond(200);
        turn();
        assertThat(client.log).containsExactly("200 end");
        assertThat(first.log).containsExactly("carry 1000", "cancel CANCELLED");
        assertThat(others).allMatch(each -> each.attempt == null);
        assertThat(observer.failedAttempts).extracting(FailedAttempt::failure).containsExactly("slower", "slower");
        assertThat(end().extraAttempts(ExtraAttempt.HEDGE)).isEqualTo(2);
        assertThat(end().attempts()).isEqualTo(3);
        assertThat(end().workerId()).isEqualTo(last.workerId());
    }

    /** Otherwise, a request would hang whose second attempt was denied. */
    @Test
    void should_look_for_another_worker_again_after_the_same_time() {
        Worker first = new Worker(here, "w1");
        get(HEDGES);
        pass(20);
        Worker second = new Worker(here, "w2");
        pass(19);
        assertThat(second.log).isEmpty();
        pass(1);
        assertThat(second.log).containsExactly("carry 960");
        second.respond(200);
        assertThat(client.log).containsExactly("200 end");
        assertThat(first.log).containsExactly("carry 1000", "cancel CANCELLED");
    }

    @Test
    void should_not_give_a_slow_attempt_up_if_attempts_overlap() {
        Worker first = new Worker(here, "w1");
        get(HEDGES);
        pass(60);
        assertThat(first.log).containsExactly("carry 1000");
        first.respond(200);
        assertThat(client.log).containsExactly("200 end");
    }

    /** One of these attempts ends, and it is none of those at the ends of their list. */
    @Test
    void should_continue_with_the_others_if_one_in_the_middle_is_lost() {
        Worker first = new Worker(here, "w1");
        get(HEDGES);
        Worker second = new Worker(here, "w2");
        pass(20);
        Worker third = new Worker(here, "w3");
        pass(20);
        second.lose();
        first.lose();
        assertThat(client.log).isEmpty();
        third.respond(200);
        assertThat(client.log).containsExactly("200 end");
        assertThat(end().workerId()).isEqualTo("w3");
        assertThat(observer.failedAttempts).extracting(FailedAttempt::number).containsExactly(2, 1);
    }

    @Test
    void should_continue_with_the_first_attempt_if_the_hedge_fails() {
        Worker first = new Worker(here, "w1");
        Worker second = new Worker(here, "w2");
        get(HEDGES);
        pass(20);
        second.refuse();
        first.respond(200);
        assertThat(client.log).containsExactly("200 end");
        assertThat(observer.failedAttempts).containsExactly(new FailedAttempt(2, "w2", "worker_lost"));
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void should_take_the_first_response_whatever_its_status(boolean hedged) {
        Worker first = new Worker(here, "w1");
        Worker second = new Worker(here, "w2");
        get(HEDGES);
        pass(hedged ? 20 : 10);
        (hedged ? second : first).respond(503);
        assertThat(client.log).containsExactly("503 end");
        assertThat(first.attempt).isNull();
        assertThat(second.attempt).isNull();
        assertThat(end().retryDenial()).isNull();
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void should_send_the_whole_body_with_a_hedge(boolean away) {
        Worker first = new Worker(here, "w1");
        Worker second = new Worker(shard(away), "w2");
        Exchange exchange = here.open(head("PUT"), false, client, HEDGES);
        exchange.data(Unpooled.copiedBuffer("abc".getBytes()), false);
        exchange.data(Unpooled.copiedBuffer("de".getBytes()), true);
        pass(20);
        assertThat(first.body).hasToString("abcde.");
        assertThat(second.body).hasToString("abcde.");
        second.respond(200);
        turn();
        assertThat(client.taken).isEqualTo(5);
        assertThat(client.log).containsExactly("200 end");
    }

    @Test
    void should_hedge_an_upload_only_after_its_end() {
        Worker first = new Worker(here, "w1");
        Worker second = new Worker(here, "w2");
        Exchange exchange = here.open(head("PUT"), false, client, HEDGES);
        exchange.data(Unpooled.copiedBuffer("abc".getBytes()), false);
        pass(30);
        assertThat(second.log).isEmpty();
        exchange.data(Unpooled.EMPTY_BUFFER, true);
        pass(19);
        assertThat(second.log).isEmpty();
        pass(1);
        assertThat(second.body).hasToString("abc.");
        first.respond(200);
        assertThat(second.log).contains("cancel CANCELLED");
        assertThat(end().extraAttempts(ExtraAttempt.HEDGE)).isEqualTo(1);
    }

    @Test
    void should_not_hedge_on_the_same_worker() {
        Worker first = new Worker(here, "w1");
        Worker same = new Worker(here, "w1");
        get(HEDGES);
        pass(30);
        assertThat(same.log).isEmpty();
        first.respond(200);
        assertThat(end().retryDenial()).isEqualTo(RetryDenial.NO_OTHER_WORKER);
        assertThat(end().attempts()).isEqualTo(1);
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void should_cancel_both_attempts_if_the_client_disconnects(boolean away) {
        Worker first = new Worker(here, "w1");
        Worker second = new Worker(shard(away), "w2");
        Exchange exchange = get(HEDGES);
        pass(20);
        exchange.cancel(ErrorCode.CANCELLED);
        turn();
        assertThat(first.log).containsExactly("carry 1000", "cancel CANCELLED");
        assertThat(second.log).containsExactly("carry 980", "cancel CANCELLED");
        assertThat(client.log).isEmpty();
    }

    /** The first worker to take the body is that of the hedge. */
    @Test
    void should_cancel_a_hedge_if_the_client_disconnects_while_the_hedge_takes_the_body() {
        Worker first = new Worker(here, "w1");
        first.takesData = false;
        Worker second = new Worker(here, "w2");
        Exchange exchange = here.open(head("PUT"), false, client, HEDGES);
        exchange.data(Unpooled.copiedBuffer("abc".getBytes()), true);
        client.duringTaken = () -> exchange.cancel(ErrorCode.CANCELLED);
        turn();
        pass(20);
        assertThat(client.taken).isEqualTo(3);
        assertThat(first.log).containsExactly("carry 1000", "cancel CANCELLED");
        assertThat(second.log).containsExactly("carry 980", "cancel CANCELLED");
        assertThat(client.log).isEmpty();
    }

    /** The hedge's handler may have had an effect. */
    @Test
    void should_not_invite_the_client_to_repeat_what_a_hedge_may_have_done() {
        Worker first = new Worker(here, "w1");
        Worker second = new Worker(here, "w2");
        get(HEDGES);
        pass(20);
        second.fail(Failure.Kind.HANDLER_FAILED);
        here.workers().setOpen(second.member, false);
        first.take().onBusy(GONE);
        pass(5_000);
        assertThat(client.log).containsExactly("queue_timeout");
        assertThat(client.retryAfterSeconds).isZero();
    }

    @Test
    void should_forget_a_hedge_whose_stream_was_taken() {
        Worker first = new Worker(here, "w1");
        Worker vanishing = new Worker(there, "w2");
        get(HEDGES);
        for (EmbeddedChannel loop : loops) {
            loop.advanceTimeBy(20, TimeUnit.MILLISECONDS);
        }
        loops[0].runScheduledPendingTasks();
        there.workers().setOpen(vanishing.member, false);
        turn();
        assertThat(vanishing.log).isEmpty();
        first.respond(200);
        assertThat(client.log).containsExactly("200 end");
        assertThat(end().attempts()).isEqualTo(1);
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void should_continue_with_the_hedge_if_the_first_handler_fails(boolean away) {
        Worker first = new Worker(here, "w1");
        Worker second = new Worker(shard(away), "w2");
        get(HEDGES);
        pass(20);
        first.take().onFailure(new Failure(Failure.Kind.HANDLER_FAILED, "the handler failed"));
        here.workers().onStreamFree(first.member, first);
        assertThat(client.log).isEmpty();
        second.respond(200);
        turn();
        assertThat(client.log).containsExactly("200 end");
        assertThat(observer.failedAttempts).containsExactly(new FailedAttempt(1, "w1", "handler_failed"));
    }

    @Test
    void should_ignore_a_hedge_that_finds_no_stream() {
        Worker first = new Worker(here, "w1");
        Worker vanishing = new Worker(there, "w2");
        get(HEDGES);
        for (EmbeddedChannel loop : loops) {
            loop.advanceTimeBy(20, TimeUnit.MILLISECONDS);
        }
        loops[0].runScheduledPendingTasks();
        first.lose();
        Worker third = new Worker(here, "w3");
        loops[0].advanceTimeBy(50, TimeUnit.MILLISECONDS);
        loops[0].runScheduledPendingTasks();
        there.workers().setOpen(vanishing.member, false);
        turn();
        assertThat(third.log).hasSize(1);
        assertThat(pool.pending()).isZero();
        third.respond(200);
        assertThat(client.log).containsExactly("200 end");
    }

    /** The queue timeout does not include the time of the attempts. */
    @Test
    void should_wait_for_the_queue_timeout_if_the_only_attempt_left_finds_no_room() {
        pool.setOptions(
                FunctionOptions.builder("f").queue(10, Duration.ofMillis(10)).build());
        here.setOptions(pool.options());
        Worker first = new Worker(here, "w1");
        Worker second = new Worker(here, "w2");
        get(HEDGES);
        pass(20);
        first.lose();
        second.take().onBusy(GONE);
        pass(9);
        assertThat(client.log).isEmpty();
        Worker third = new Worker(here, "w3");
        third.respond(200);
        assertThat(client.log).containsExactly("200 end");
    }

    @Test
    void should_queue_a_request_again_if_its_last_attempt_found_no_stream() {
        Worker first = new Worker(here, "w1");
        Worker vanishing = new Worker(there, "w2");
        get(HEDGES);
        for (EmbeddedChannel loop : loops) {
            loop.advanceTimeBy(20, TimeUnit.MILLISECONDS);
        }
        loops[0].runScheduledPendingTasks();
        first.lose();
        there.workers().setOpen(vanishing.member, false);
        turn();
        assertThat(pool.pending()).isEqualTo(1);
        Worker third = new Worker(here, "w3");
        third.respond(200);
        assertThat(client.log).containsExactly("200 end");
    }

    /** The response has begun, so what a cancelled attempt finds concerns nobody. */
    @Test
    void should_count_and_report_a_cancelled_hedge_once_although_it_finds_no_stream() {
        Worker first = new Worker(here, "w1");
        Worker vanishing = new Worker(there, "w2");
        get(HEDGES);
        for (EmbeddedChannel loop : loops) {
            loop.advanceTimeBy(20, TimeUnit.MILLISECONDS);
        }
        loops[0].runScheduledPendingTasks();
        Attempt answered = first.begin(200);
        there.workers().setOpen(vanishing.member, false);
        turn();
        answered.onData(Unpooled.EMPTY_BUFFER, true);
        assertThat(client.log).containsExactly("200", "data 0 end");
        assertThat(observer.failedAttempts).containsExactly(new FailedAttempt(2, null, "slower"));
        assertThat(end().attempts()).isEqualTo(2);
    }

    /** Only the time in the queue counts: it waited for 5 ms, and 35 ms are left. */
    @Test
    void should_try_again_after_most_of_the_deadline_although_responses_need_longer() {
        for (int i = 0; i < 100; i++) {
            here.onResponseTime(TimeUnit.MILLISECONDS.toNanos(50));
        }
        Worker first = new Worker(here, "w1");
        get(DEADLINES);
        pass(160);
        first.lose();
        pass(5);
        Worker second = new Worker(here, "w2");
        assertThat(second.log).containsExactly("carry 35");
        second.respond(200);
        assertThat(client.log).containsExactly("200 end");
    }

    /** Lambda cannot end an invocation, so a direct call is never given up for another attempt. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void should_not_repeat_a_direct_call_when_the_timeout_of_an_earlier_attempt_ends(boolean stranded) {
        List<String> direct = new ArrayList<>();
        List<Attempt> called = new ArrayList<>();
        here.overflow(Duration.ofMillis(10), () -> new DirectWay(direct, called));
        Worker worker = new Worker(shard(stranded), "w1");
        here.open(head("GET"), true, client, RETRIES);
        if (stranded) {
            there.workers().setOpen(worker.member, false);
            turn();
        } else {
            turn();
            worker.lose();
        }
        pass(10);
        assertThat(direct).containsExactly("carry");
        pass(100);
        assertThat(direct).containsExactly("carry");
        called.get(0).onHead(new DefaultHttp2Headers().status("200"), true);
        assertThat(client.log).containsExactly("200 end");
    }

    private static final class DirectWay extends DiscardingSink implements Carrier {
        private final List<String> log;
        private final List<Attempt> called;

        DirectWay(List<String> log, List<Attempt> called) {
            this.log = log;
            this.called = called;
        }

        @Override
        public boolean isOfWorker() {
            return false;
        }

        @Override
        public @Nullable String workerId() {
            return null;
        }

        @Override
        public RequestSink carry(Http2Headers head, boolean end, int timeoutMillis, Attempt attempt) {
            log.add("carry");
            called.add(attempt);
            return this;
        }

        @Override
        public void cancel(ErrorCode code) {
            log.add("cancel " + code);
        }
    }

    // Deadlines.

    @Test
    void should_leave_the_queue_at_the_deadline() {
        get(DEADLINES);
        pass(199);
        assertThat(client.log).isEmpty();
        pass(1);
        assertThat(client.log).containsExactly("deadline_exceeded");
        assertThat(end().status()).isEqualTo(504);
        assertThat(end().attempts()).isZero();
        Worker late = new Worker(here, "w1");
        assertThat(late.log).isEmpty();
    }

    @Test
    void should_cancel_the_handler_at_the_deadline() {
        Worker worker = new Worker(there, "w1");
        get(DEADLINES);
        pass(200);
        assertThat(worker.log).containsExactly("carry 200", "cancel TIMEOUT");
        assertThat(client.log).containsExactly("deadline_exceeded");
    }

    @Test
    void should_tell_the_worker_what_the_queue_has_left_of_the_time() {
        here.open(head("POST").add("grpc-timeout", "100m"), true, client, DEADLINES);
        pass(30);
        Worker worker = new Worker(here, "w1");
        assertThat(worker.log).containsExactly("carry 70");
        assertThat(worker.head.get("grpc-timeout")).hasToString("70000u");
        worker.respond(200);
    }

    @Test
    void should_not_begin_if_the_client_no_longer_waits() {
        Worker worker = new Worker(here, "w1");
        here.open(head("POST").add("grpc-timeout", "0n"), true, client, DEADLINES);
        assertThat(client.log).containsExactly("deadline_exceeded");
        assertThat(worker.log).isEmpty();
    }

    @Test
    void should_call_the_timeout_of_a_worker_a_deadline_if_it_was_one() {
        Worker worker = new Worker(here, "w1");
        get(DEADLINES);
        worker.take().onFailure(new Failure(Failure.Kind.TIMEOUT, "the handler timed out"));
        here.workers().onStreamFree(worker.member, worker);
        assertThat(client.log).containsExactly("deadline_exceeded");
    }

    @Test
    void should_spend_the_deadline_on_retries() {
        TrafficPolicy both = RETRIES.toBuilder().deadline(DEADLINES.deadline()).build();
        Worker first = new Worker(here, "w1");
        Worker second = new Worker(here, "w2");
        Worker third = new Worker(here, "w3");
        here.open(head("GET").add("grpc-timeout", "120m"), true, client, both);
        turn();
        pass(50);
        pass(50);
        pass(20);
        assertThat(first.log).containsExactly("carry 120", "cancel TIMEOUT");
        assertThat(second.log).containsExactly("carry 70", "cancel TIMEOUT");
        assertThat(third.log).containsExactly("carry 20", "cancel TIMEOUT");
        assertThat(client.log).containsExactly("deadline_exceeded");
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void should_hedge_again_after_a_hedge_that_found_no_room(boolean busy) {
        Worker first = new Worker(here, "w1");
        Worker second = new Worker(there, "w2");
        get(TrafficPolicy.builder()
                .attempts(attempts()
                        .maxAttempts(2)
                        .hedgeAfter(Duration.ofMillis(20))
                        .build())
                .build());
        for (EmbeddedChannel loop : loops) {
            loop.advanceTimeBy(20, TimeUnit.MILLISECONDS);
        }
        loops[0].runScheduledPendingTasks();
        if (busy) {
            turn();
            second.take().onBusy(GONE);
        }
        there.workers().setOpen(second.member, false);
        turn();
        Worker third = new Worker(here, "w3");
        pass(20);
        assertThat(third.log).containsExactly("carry 960");
        third.respond(200);
        turn();
        assertThat(client.log).containsExactly("200 end");
        assertThat(first.log).containsExactly("carry 1000", "cancel CANCELLED");
        assertThat(end().attempts()).isEqualTo(2);
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void should_report_a_refused_direct_call_only_if_the_request_is_sent_again(boolean kept) {
        List<Attempt> called = new ArrayList<>();
        here.overflow(Duration.ofMillis(10), () -> new DirectWay(new ArrayList<>(), called));
        int others = kept ? 0 : 16 * 1024 * 1024;
        assertThat(here.mayKeepSent(others)).isTrue();
        Exchange exchange = here.open(head("PUT"), false, client, RETRIES);
        exchange.data(Unpooled.copiedBuffer(new byte[3]), true);
        pass(10);
        called.get(0).onRefused(GONE);
        assertThat(observer.failedAttempts).hasSize(kept ? 1 : 0);
        assertThat(client.log).hasSize(kept ? 0 : 1);
        if (kept) {
            new Worker(here, "w1").respond(200);
        }
        here.onSentDropped(others);
        assertThat(client.log).containsExactly(kept ? "200 end" : "worker_lost");
    }
}
