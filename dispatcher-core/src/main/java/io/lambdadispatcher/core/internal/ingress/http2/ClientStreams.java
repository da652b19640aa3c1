package io.lambdadispatcher.core.internal.ingress.http2;

import io.netty.handler.codec.http2.Http2Connection;
import io.netty.handler.codec.http2.Http2Exception;
import io.netty.handler.codec.http2.Http2Stream;
import io.netty.handler.codec.http2.Http2StreamVisitor;
import java.util.ArrayDeque;
import java.util.function.ToLongFunction;
import org.jspecify.annotations.Nullable;

/**
 * Knows which {@link Http2ClientStream} serves which stream of a client's connection, and keeps
 * those of ended requests for the next requests. Event loop only.
 */
final class ClientStreams {
    /** Maximum number of streams that are kept for the next requests. */
    private static final int MAX_ENDED = 128;

    private final Http2ClientConnection connection;
    private final Http2Connection.PropertyKey key;
    private final ArrayDeque<Http2ClientStream> ended = new ArrayDeque<>(4);

    ClientStreams(Http2ClientConnection connection) {
        this.connection = connection;
        this.key = connection.connection().newKey();
    }

    /** Returns what serves a stream, or {@code null} if nothing does. */
    @Nullable
    Http2ClientStream of(Http2Stream stream) {
        return stream.getProperty(key);
    }

    /** Returns what serves the stream with this id, or {@code null} if nothing does. */
    @Nullable
    Http2ClientStream of(int id) {
        Http2Stream stream = connection.connection().stream(id);
        return stream == null ? null : of(stream);
    }

    Http2ClientStream open(Http2Stream stream) {
        Http2ClientStream client = ended.peek();
        if (client != null && client.isReusable()) {
            ended.remove();
            client.reopen(stream);
        } else {
            client = new Http2ClientStream(connection, connection.ctx(), stream);
        }
        stream.setProperty(key, client);
        return client;
    }

    /** Ends the request of a stream that is closed. */
    void onClosed(Http2Stream stream) {
        Http2ClientStream client = end(stream);
        if (client != null && ended.size() < MAX_ENDED) {
            ended.push(client);
        }
    }

    /**
     * Ends a request that failed unexpectedly. It may still refer to its objects, so they are not
     * reused.
     */
    void abandon(Http2Stream stream) {
        end(stream);
    }

    private @Nullable Http2ClientStream end(Http2Stream stream) {
        Http2ClientStream client = stream.removeProperty(key);
        if (client != null) {
            client.onClosed();
        }
        return client;
    }

    /** Drops what is kept for the next requests, because it refers to objects of earlier ones. */
    void dropEnded() {
        ended.clear();
    }

    /** Ends all requests, because the connection is lost. Their streams close later. */
    void endAll() {
        visit(stream -> {
            Http2ClientStream client = of(stream);
            if (client != null) {
                client.onClosed();
            }
            return true;
        });
    }

    /** Returns the sum of a value over the served streams. */
    long sum(ToLongFunction<Http2ClientStream> value) {
        long[] total = {0};
        visit(stream -> {
            Http2ClientStream client = of(stream);
            total[0] += client == null ? 0 : value.applyAsLong(client);
            return true;
        });
        return total[0];
    }

    /** Returns whether all streams of the connection are open tunnels. */
    boolean areTunnels() {
        Http2Stream request = visit(stream -> {
            Http2ClientStream client = of(stream);
            return client != null && client.isTunnelOpen();
        });
        return request == null;
    }

    /** @return the stream at which the visitor has stopped; {@code null} = it has seen all */
    private @Nullable Http2Stream visit(Http2StreamVisitor visitor) {
        try {
            return connection.connection().forEachActiveStream(visitor);
        } catch (Http2Exception e) {
            throw new IllegalStateException(e); // no visit throws it
        }
    }
}
