package io.lambdadispatcher.core.internal.filter;

import io.lambdadispatcher.core.internal.exchange.Failure;
import io.lambdadispatcher.core.internal.exchange.FunctionOpener;
import io.lambdadispatcher.core.internal.exchange.RequestSink;
import io.lambdadispatcher.core.internal.exchange.ResponseSink;
import io.lambdadispatcher.core.options.TrafficPolicy;
import io.lambdadispatcher.wire.worker.ErrorCode;
import io.netty.buffer.ByteBuf;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.Http2Headers;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import org.jspecify.annotations.Nullable;

/** A function that records its requests, and responds as the test says. */
final class ScriptedFunction implements FunctionOpener {
    final List<Call> calls = new ArrayList<>();
    TrafficPolicy policy = TrafficPolicy.NEUTRAL;

    /** Says at the end of a request's body that a worker has it, as if it had waited for that. */
    boolean sendsAtEnd;

    /** Refuses the next requests while they are opened. */
    @Nullable
    Failure refusal;

    @Override
    public TrafficPolicy policy() {
        return policy;
    }

    @Override
    public RequestSink open(Http2Headers head, boolean end, ResponseSink response, TrafficPolicy applied) {
        Call call = new Call(head, end, response, applied, sendsAtEnd);
        calls.add(call);
        if (refusal != null) {
            response.onFailure(refusal);
        }
        return call;
    }

    Call only() {
        if (calls.size() != 1) {
            throw new AssertionError(calls.size() + " calls");
        }
        return calls.get(0);
    }

    /** Returns the headers of a request, with these names and values. */
    static Http2Headers request(String method, String... fields) {
        return with(
                new DefaultHttp2Headers()
                        .method(method)
                        .scheme("http")
                        .authority("a")
                        .path("/"),
                fields);
    }

    /** Returns the headers of a response, with these names and values. */
    static Http2Headers ok(String... fields) {
        return with(new DefaultHttp2Headers().status("200"), fields);
    }

    private static Http2Headers with(Http2Headers head, String... fields) {
        for (int i = 0; i < fields.length; i += 2) {
            head.add(fields[i], fields[i + 1]);
        }
        return head;
    }

    static final class Call implements RequestSink {
        final Http2Headers head;
        final ResponseSink response;
        final TrafficPolicy policy;
        final StringBuilder log = new StringBuilder();
        private final boolean sendsAtEnd;
        private final Queue<ByteBuf> untaken = new ArrayDeque<>();

        Call(Http2Headers head, boolean end, ResponseSink response, TrafficPolicy policy, boolean sendsAtEnd) {
            this.sendsAtEnd = sendsAtEnd;
            this.head = head;
            this.response = response;
            this.policy = policy;
            log.append(end ? "end" : "open");
        }

        @Override
        public void data(ByteBuf data, boolean end) {
            log.append(' ').append(data.toString(StandardCharsets.US_ASCII)).append(end ? " end" : "");
            untaken.add(data);
            if (end && sendsAtEnd) {
                response.onSent();
            }
        }

        /** Takes the oldest part of the body that was not taken. */
        void take() {
            ByteBuf data = untaken.remove();
            int bytes = data.readableBytes();
            data.release();
            response.onRequestTaken(bytes);
        }

        @Override
        public void trailers(Http2Headers trailers) {
            log.append(" trailers");
        }

        @Override
        public void cancel(ErrorCode code) {
            log.append(" cancelled");
            for (ByteBuf data = untaken.poll(); data != null; data = untaken.poll()) {
                data.release();
            }
        }

        @Override
        public void responseTaken(int bytes) {
            log.append(" taken ").append(bytes);
        }

        @Override
        public long heldBytes() {
            return 1;
        }

        void respond(int status, boolean end) {
            response.onHead(new DefaultHttp2Headers().status(Integer.toString(status)), end);
        }
    }
}
