package io.lambdadispatcher.core.internal.worker;

import static io.netty.handler.codec.http.HttpResponseStatus.FORBIDDEN;
import static io.netty.handler.codec.http.HttpResponseStatus.TOO_MANY_REQUESTS;
import static io.netty.handler.codec.http.HttpResponseStatus.UNAUTHORIZED;

import io.lambdadispatcher.core.internal.pool.PoolShard;
import io.lambdadispatcher.core.internal.worker.WorkerEvents.Rejection;
import io.lambdadispatcher.core.observe.Protection;
import io.lambdadispatcher.wire.worker.Endpoints;
import io.lambdadispatcher.wire.worker.LaunchToken;
import io.lambdadispatcher.wire.worker.WireException;
import io.netty.channel.ChannelHandlerContext;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.handler.codec.http2.Http2Stream;
import java.time.Instant;
import org.jspecify.annotations.Nullable;

/**
 * A connection that is not authenticated yet. Its control stream brings a launch token. A valid
 * token creates a {@link WorkerConnection}, which replaces this object. Any other request closes
 * the connection. Event loop only.
 */
final class Admission extends DialIn {
    private boolean refused;

    Admission(WorkerPort port, WorkerPortHandler handler) {
        super(port, handler);
    }

    @Override
    public void onHeadersRead(ChannelHandlerContext c, int id, Http2Headers head, int padding, boolean end) {
        // Frames that were read together with a refused request still arrive here.
        if (!refused) {
            super.onHeadersRead(c, id, head, padding, end);
        }
    }

    @Override
    void onControlStream(Http2Stream stream, Http2Headers head) {
        CharSequence authorization = head.get(HttpHeaderNames.AUTHORIZATION);
        if (authorization == null || !authorization.toString().startsWith(Endpoints.BEARER)) {
            refuse(stream, UNAUTHORIZED, Rejection.TOKEN, "no launch token");
            return;
        }
        String text = authorization.toString().substring(Endpoints.BEARER.length());
        LaunchToken token;
        try {
            token = LaunchToken.verify(text, port.access().keysOf(), Instant.EPOCH);
        } catch (WireException e) {
            refuse(
                    stream,
                    UNAUTHORIZED,
                    Rejection.TOKEN,
                    e.getMessage() + port.access().hint());
            return;
        }
        PoolShard shard = port.shard(token.function(), loop());
        if (shard == null) {
            refuse(
                    stream,
                    FORBIDDEN,
                    Rejection.FUNCTION,
                    "launch token for function " + token.function() + ", which is not configured");
            return;
        }
        Instant now = Instant.now();
        if (token.expiry().isAfter(now.plus(LaunchToken.MAX_LIFE))) {
            refuse(
                    stream,
                    UNAUTHORIZED,
                    Rejection.EXPIRED,
                    "launch token of worker " + token.workerId() + " expires at " + token.expiry()
                            + ", expected at most " + LaunchToken.MAX_LIFE.toMinutes() + " minutes after " + now);
            return;
        }
        boolean expired = !now.isBefore(token.expiry());
        WorkerConnection connection = new WorkerConnection(this, stream, text, token.workerId(), shard);
        WorkerEvents.Refusal refusal = port.events.admit(token, connection, expired);
        if (refusal != null) {
            if (refusal.status() == TOO_MANY_REQUESTS) {
                port.observer.onProtection(Protection.WORKER_LIMIT);
            }
            refuse(stream, refusal.status(), refusal.rejection(), refusal.reason());
            return;
        }
        connection.start();
    }

    @Override
    void onWorkerStream(Http2Stream stream) {
        refuse(stream, FORBIDDEN, Rejection.PROTOCOL, "a worker stream before WELCOME");
    }

    @Override
    void refuse(Http2Stream stream, HttpResponseStatus status, @Nullable Rejection rejection, String reason) {
        super.refuse(stream, status, rejection, reason);
        refused = true;
        handler.flush(handler.ctx());
        handler.ctx().close();
    }
}
