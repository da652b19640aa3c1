package io.lambdadispatcher.worker.adapter.runtime;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.buffer.ByteBuf;
import java.lang.reflect.Proxy;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

class InvocationTest {
    private static final long SECOND = TimeUnit.SECONDS.toNanos(1);

    /** Records its calls. */
    private static final class Recorder implements Answer {
        final List<String> calls = new ArrayList<>();

        @Override
        public void onWhole(byte[] payload) {
            calls.add("whole " + new String(payload, StandardCharsets.UTF_8));
        }

        @Override
        public Stream onStream(String contentType, Runnable resume, Runnable stop) {
            calls.add("stream");
            return new Stream() {
                @Override
                public boolean onBytes(ByteBuf bytes) {
                    bytes.release();
                    return true;
                }

                @Override
                public void onEnd() {}

                @Override
                public void onBroken(String text) {}
            };
        }

        @Override
        public void onError(String type, byte[] details) {
            calls.add("error " + type);
        }

        @Override
        public void onFailed(Failure why, String text) {
            calls.add("failed " + why);
        }
    }

    private final Recorder asker = new Recorder();
    private final Invocation invocation = new Invocation(InvokeHead.of("id", "arn", null, 10_000), new byte[0], asker);

    @Test
    void should_count_the_time_to_hang_from_when_the_child_got_it() {
        long deadline = invocation.head.deadlineNanos();
        invocation.onGiven(deadline - SECOND);
        assertThat(invocation.head.isOverdue(deadline)).isTrue();
        assertThat(invocation.isHanging(deadline)).isFalse();
        assertThat(invocation.isHanging(deadline + 9 * SECOND)).isTrue();
    }

    @Test
    void should_not_count_a_freeze_as_time_to_hang() {
        invocation.onGiven(0);
        invocation.onFrozen(100 * SECOND);
        assertThat(invocation.isHanging(110 * SECOND - 1)).isFalse();
        assertThat(invocation.isHanging(110 * SECOND)).isTrue();
    }

    @Test
    void should_leave_a_child_ten_seconds_where_the_request_had_less() {
        Invocation late = new Invocation(InvokeHead.of("id", "arn", null, 1), new byte[0], asker);
        late.onGiven(0);
        assertThat(late.isHanging(10 * SECOND - 1)).isFalse();
        assertThat(late.isHanging(10 * SECOND)).isTrue();
    }

    /**
     * SecureRandom makes UUIDs of version 4. A snapshot contains the state of every other
     * generator, so all restored environments would repeat its values.
     */
    @Test
    void should_make_ids_that_no_snapshot_repeats() {
        for (int i = 0; i < 20; i++) {
            InvokeHead head = InvokeHead.ofRequest("arn", null, 10_000, 10_000);
            assertThat(UUID.fromString(head.id()).version()).isEqualTo(4);
            assertThat(head.traceId())
                    .matches("Root=1-[0-9a-f]{8}-[0-9a-f]{12}4[0-9a-f]{11};Parent=[89ab][0-9a-f]{15};Sampled=0");
        }
    }

    @Test
    void should_tell_the_one_who_asked_once() {
        invocation.timeOut();
        invocation.endWhole("late".getBytes(StandardCharsets.UTF_8));
        assertThat(asker.calls).containsExactly("failed TIMED_OUT");
        assertThat(invocation.state).isEqualTo(Invocation.State.ENDED);
    }

    @Test
    void should_keep_what_the_one_who_asked_throws_from_the_loop_of_the_api() {
        Answer broken = (Answer) Proxy.newProxyInstance(
                Answer.class.getClassLoader(), new Class<?>[] {Answer.class}, (proxy, method, arguments) -> {
                    asker.calls.add(method.getName());
                    throw new RejectedExecutionException("its loop has ended");
                });
        InvokeHead head = InvokeHead.of("id", "arn", null, 10_000);
        Invocation ended = new Invocation(head, new byte[0], broken);
        ended.endWhole(new byte[0]);
        assertThat(ended.state).isEqualTo(Invocation.State.ENDED);
        new Invocation(head, new byte[0], broken).timeOut();
        assertThat(new Invocation(head, new byte[0], broken).beginStream("", () -> {}, () -> {}))
                .isNull();
        assertThat(asker.calls).containsExactly("onWhole", "onFailed", "onStream", "onFailed");
    }

    @Test
    void should_tell_nobody_when_it_is_dropped() {
        invocation.drop();
        invocation.endError("E", new byte[0]);
        assertThat(invocation.beginStream("", () -> {}, () -> {})).isNull();
        assertThat(asker.calls).isEmpty();
    }
}
