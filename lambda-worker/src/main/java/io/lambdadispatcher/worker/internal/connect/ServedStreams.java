package io.lambdadispatcher.worker.internal.connect;

import io.lambdadispatcher.worker.handler.FailureReason;
import io.lambdadispatcher.worker.internal.relay.ServedStream;
import io.lambdadispatcher.worker.internal.transport.Http2Client;
import io.netty.handler.codec.http2.Http2Connection;
import io.netty.handler.codec.http2.Http2Stream;
import io.netty.util.concurrent.Future;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The worker streams of a connection. Until the connection drains, a stream that is lost is
 * replaced. Event loop only.
 */
final class ServedStreams {
    private static final long REPLACE_DELAY_MILLIS = 1_000;

    private final Http2Client http2;
    private final Supplier<@Nullable Http2Stream> opener;
    private final Function<Http2Stream, ServedStream> server;
    private final Http2Connection.PropertyKey key;
    private final Map<Http2Stream, ServedStream> streams = new LinkedHashMap<>();
    private boolean replacing;
    /** A second drain with a shorter grace period adds to those of the first. */
    private final List<Future<?>> cleanEnds = new ArrayList<>();

    /**
     * @param opener opens a stream; {@code null} = the connection ends because it could not
     * @param server serves the requests of a stream
     */
    ServedStreams(
            Http2Client http2, Supplier<@Nullable Http2Stream> opener, Function<Http2Stream, ServedStream> server) {
        this.http2 = http2;
        this.opener = opener;
        this.server = server;
        this.key = http2.connection().newKey();
    }

    /**
     * Opens streams, at most as many as the peer allows.
     *
     * @return how many there are
     */
    int open(int count) {
        replacing = true;
        for (int i = 0; i < count; i++) {
            openNext();
        }
        return streams.size();
    }

    private void openNext() {
        if (!replacing || !http2.connection().local().canOpenStream()) {
            return;
        }
        Http2Stream stream = opener.get();
        if (stream != null) {
            ServedStream served = server.apply(stream);
            stream.setProperty(key, served);
            streams.put(stream, served);
        }
    }

    /** Returns what serves the stream with this id, or {@code null} if nothing does. */
    @Nullable
    ServedStream of(int streamId) {
        Http2Stream stream = http2.connection().stream(streamId);
        return stream == null ? null : stream.getProperty(key);
    }

    /**
     * Replaces a closed stream, with a delay if it never served, because the next one may fail
     * again.
     *
     * @return false if it is no worker stream
     */
    boolean onClosed(Http2Stream stream) {
        ServedStream lost = streams.remove(stream);
        if (lost == null) {
            return false;
        }
        lost.close(FailureReason.CANCELLED);
        if (replacing) {
            long delayMillis = lost.hasServedWell() ? 0 : REPLACE_DELAY_MILLIS;
            http2.ctx().executor().schedule(this::openNext, delayMillis, TimeUnit.MILLISECONDS);
        }
        return true;
    }

    /**
     * Tells the exchanges that the connection drains, and ends long ones before they are cut off.
     * Called again if the grace period becomes shorter.
     */
    void drain(Duration grace) {
        replacing = false;
        each(stream -> stream.drain(grace));
        cleanEnds.add(endCleanly(grace, false));
        cleanEnds.add(endCleanly(grace, true));
    }

    private Future<?> endCleanly(Duration grace, boolean latest) {
        long millis = ServedStream.untilCleanEnd(grace, latest).toMillis();
        return http2.ctx()
                .executor()
                .schedule(() -> each(stream -> stream.endCleanly(latest)), millis, TimeUnit.MILLISECONDS);
    }

    /** Fails the exchanges in flight. */
    void abort(String reason) {
        each(stream -> stream.abort(FailureReason.GOING_AWAY, reason));
    }

    /** Ends our side of all streams when their last responses are sent. */
    void end() {
        each(ServedStream::end);
    }

    boolean haveEnded() {
        return streams.keySet().stream().noneMatch(stream -> stream.state().localSideOpen());
    }

    /** The channel is closed. */
    void close() {
        replacing = false;
        cleanEnds.forEach(end -> end.cancel(false));
        each(stream -> stream.close(FailureReason.CANCELLED));
        streams.clear();
    }

    /** Uses a copy, because listeners can end exchanges, and the last one ends the streams. */
    private void each(Consumer<ServedStream> action) {
        List.copyOf(streams.values()).forEach(action);
    }
}
