package io.lambdadispatcher.wire.http2;

import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelFuture;
import io.netty.handler.codec.http2.Http2CodecUtil;
import io.netty.handler.codec.http2.Http2Connection;
import io.netty.handler.codec.http2.Http2Error;
import io.netty.handler.codec.http2.Http2Exception;
import io.netty.handler.codec.http2.Http2FlowController;
import io.netty.handler.codec.http2.Http2LocalFlowController;
import io.netty.handler.codec.http2.Http2RemoteFlowController;
import io.netty.handler.codec.http2.Http2Stream;
import io.netty.handler.codec.http2.Http2StreamVisitor;
import io.netty.util.collection.IntObjectHashMap;
import io.netty.util.concurrent.Future;
import io.netty.util.concurrent.Promise;
import io.netty.util.concurrent.PromiseNotifier;
import io.netty.util.internal.logging.InternalLogger;
import io.netty.util.internal.logging.InternalLoggerFactory;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;

/**
 * The streams that a client has opened on a server's connection (RFC 9113 section 5.1). Netty's
 * {@code DefaultHttp2Connection} needs four objects for each request. Here, a stream that has ended
 * serves a later request. Only the client opens streams, because the server pushes nothing.
 *
 * <p><b>Reuse.</b> While a write is unfinished, its listener refers to the stream that it will
 * close. Such a stream is not reused, and neither is one that the server has reset. Nobody else may
 * use a stream after {@link Http2Connection.Listener#onStreamRemoved}.
 *
 * <p><b>Threading.</b> Event loop only.
 */
final class ReusingHttp2Connection implements Http2Connection {
    private static final InternalLogger log = InternalLoggerFactory.getInstance(ReusingHttp2Connection.class);

    private final EagerFrameReader reader;
    private final int maxSpares;
    private final IntObjectHashMap<Stream> open = new IntObjectHashMap<>();
    private final Stream connectionStream = new Stream();
    private final List<Listener> listeners = new ArrayList<>(4);
    private final Side<Http2LocalFlowController> local = new Side<>();
    private final Side<Http2RemoteFlowController> remote = new Side<>();
    private final ArrayDeque<Stream> spares = new ArrayDeque<>(4);
    private final List<Stream> closedDuringVisit = new ArrayList<>(4);
    private @Nullable Stream oldest;
    private @Nullable Stream newest;
    private int visits;
    private int keys;
    private @Nullable Promise<Void> closed;

    /**
     * @param reader knows which streams the client has tried to open
     * @param maxSpares maximum number of stream objects that wait for the next requests
     */
    ReusingHttp2Connection(EagerFrameReader reader, int maxSpares) {
        this.reader = reader;
        this.maxSpares = maxSpares;
    }

    /** One stream, or the connection itself. */
    final class Stream implements Http2Stream {
        private int id = Http2CodecUtil.CONNECTION_STREAM_ID;
        private State state = State.IDLE;
        private boolean resetSent;
        private boolean headersSent;
        private boolean trailersSent;
        private boolean headersReceived;
        private boolean trailersReceived;
        private boolean kept;
        private @Nullable Object[] properties = new Object[0];
        private @Nullable Stream older;
        private @Nullable Stream younger;

        private void begin(int newId, boolean halfClosed) {
            id = newId;
            state = halfClosed ? State.HALF_CLOSED_REMOTE : State.OPEN;
            headersSent = false;
            trailersSent = false;
            // Like Netty, whose decoder counts the headers again.
            headersReceived = halfClosed;
            trailersReceived = false;
        }

        /** Prevents the reuse, because a listener refers to this stream. */
        void keep() {
            kept = true;
        }

        @Override
        public int id() {
            return id;
        }

        @Override
        public State state() {
            return state;
        }

        @Override
        public Http2Stream open(boolean halfClosed) throws Http2Exception {
            throw Http2Exception.streamError(id, Http2Error.PROTOCOL_ERROR, "stream %d is open already", id);
        }

        @Override
        public Http2Stream close() {
            if (state != State.CLOSED) {
                state = State.CLOSED;
                if (visits > 0) {
                    closedDuringVisit.add(this);
                } else {
                    remove(this);
                }
            }
            return this;
        }

        @Override
        public Http2Stream closeLocalSide() {
            return closeSide(State.HALF_CLOSED_LOCAL);
        }

        @Override
        public Http2Stream closeRemoteSide() {
            return closeSide(State.HALF_CLOSED_REMOTE);
        }

        private Http2Stream closeSide(State half) {
            if (state == State.OPEN) {
                state = half;
                tell(Listener::onStreamHalfClosed, this);
            } else if (state != half) {
                close();
            }
            return this;
        }

        @Override
        public boolean isResetSent() {
            return resetSent;
        }

        @Override
        public Http2Stream resetSent() {
            resetSent = true;
            return this;
        }

        @Override
        public <V> @Nullable V setProperty(PropertyKey key, V value) {
            int index = ((Key) key).index;
            if (index >= properties.length) {
                properties = Arrays.copyOf(properties, keys);
            }
            V previous = getProperty(key);
            properties[index] = value;
            return previous;
        }

        @Override
        @SuppressWarnings("unchecked") // the caller knows the type of its own property
        public <V> @Nullable V getProperty(PropertyKey key) {
            int index = ((Key) key).index;
            return index < properties.length ? (V) properties[index] : null;
        }

        @Override
        public <V> @Nullable V removeProperty(PropertyKey key) {
            V previous = getProperty(key);
            if (previous != null) {
                properties[((Key) key).index] = null;
            }
            return previous;
        }

        @Override
        public Http2Stream headersSent(boolean interim) {
            if (!interim) {
                trailersSent = headersSent;
                headersSent = true;
            }
            return this;
        }

        @Override
        public boolean isHeadersSent() {
            return headersSent;
        }

        @Override
        public boolean isTrailersSent() {
            return trailersSent;
        }

        @Override
        public Http2Stream headersReceived(boolean interim) {
            if (!interim) {
                trailersReceived = headersReceived;
                headersReceived = true;
            }
            return this;
        }

        @Override
        public boolean isHeadersReceived() {
            return headersReceived;
        }

        @Override
        public boolean isTrailersReceived() {
            return trailersReceived;
        }

        @Override
        public Http2Stream pushPromiseSent() {
            throw new UnsupportedOperationException("a server pushes nothing");
        }

        @Override
        public boolean isPushPromiseSent() {
            return false;
        }
    }

    private record Key(int index) implements PropertyKey {}

    /** One end of the connection. Only the remote one opens streams. */
    private final class Side<F extends Http2FlowController> implements Endpoint<F> {
        private @Nullable F flowController;
        private int lastCreated;
        private int lastKnownByPeer = -1;
        private int active;
        private int maxActive = Integer.MAX_VALUE;
        private boolean pushAllowed;

        private boolean isRemote() {
            return this == (Object) remote;
        }

        @Override
        public int incrementAndGetNextStreamId() {
            throw new UnsupportedOperationException("a server opens no streams");
        }

        @Override
        public boolean isValidStreamId(int id) {
            return id > 0 && (id & 1) == 1 == isRemote();
        }

        @Override
        public boolean mayHaveCreatedStream(int id) {
            return isValidStreamId(id) && id <= lastCreated;
        }

        @Override
        public boolean created(@Nullable Http2Stream stream) {
            return stream != null && isValidStreamId(stream.id());
        }

        @Override
        public boolean canOpenStream() {
            return active < maxActive;
        }

        @Override
        public Http2Stream createStream(int id, boolean halfClosed) throws Http2Exception {
            verifyNew(id);
            lastCreated = id;
            Stream spare = spares.poll();
            Stream stream = spare == null ? new Stream() : spare;
            stream.begin(id, halfClosed);
            add(stream);
            return stream;
        }

        private void verifyNew(int id) throws Http2Exception {
            if (lastKnownByPeer >= 0 && id > lastKnownByPeer) {
                throw Http2Exception.streamError(
                        id, Http2Error.REFUSED_STREAM, "stream %d is above %d of GOAWAY", id, lastKnownByPeer);
            }
            if (!isRemote() || !isValidStreamId(id)) {
                throw Http2Exception.connectionError(
                        Http2Error.PROTOCOL_ERROR, "stream %d, expected an odd one that the client opens", id);
            }
            if (lastCreated == Integer.MAX_VALUE) {
                throw new Http2Exception(
                        Http2Error.REFUSED_STREAM,
                        "the client has used all stream ids",
                        Http2Exception.ShutdownHint.GRACEFUL_SHUTDOWN);
            }
            if (id <= lastCreated) {
                throw Http2Exception.closedStreamError(
                        Http2Error.PROTOCOL_ERROR, "stream %d is opened after stream %d", id, lastCreated);
            }
            if (!canOpenStream()) {
                throw Http2Exception.streamError(
                        id, Http2Error.REFUSED_STREAM, "stream %d, limit of open streams %d", id, maxActive);
            }
            if (closed != null) {
                throw Http2Exception.connectionError(Http2Error.INTERNAL_ERROR, "stream %d on a closed connection", id);
            }
        }

        @Override
        public Http2Stream reservePushStream(int id, Http2Stream parent) throws Http2Exception {
            throw Http2Exception.connectionError(Http2Error.PROTOCOL_ERROR, "push of stream %d", id);
        }

        @Override
        public boolean isServer() {
            return !isRemote();
        }

        @Override
        public void allowPushTo(boolean allow) {
            pushAllowed = allow;
        }

        @Override
        public boolean allowPushTo() {
            return pushAllowed;
        }

        @Override
        public int numActiveStreams() {
            return active;
        }

        @Override
        public int maxActiveStreams() {
            return maxActive;
        }

        @Override
        public void maxActiveStreams(int max) {
            maxActive = max;
        }

        @Override
        public int lastStreamCreated() {
            return lastCreated;
        }

        @Override
        public int lastStreamKnownByPeer() {
            return lastKnownByPeer;
        }

        @Override
        public @Nullable F flowController() {
            return flowController;
        }

        @Override
        public void flowController(F controller) {
            flowController = Objects.requireNonNull(controller);
        }

        @Override
        public Endpoint<? extends Http2FlowController> opposite() {
            return isRemote() ? local : remote;
        }
    }

    private void add(Stream stream) {
        open.put(stream.id, stream);
        tell(Listener::onStreamAdded, stream);
        stream.older = newest;
        if (newest == null) {
            oldest = stream;
        } else {
            newest.younger = stream;
        }
        newest = stream;
        remote.active++;
        tell(Listener::onStreamActive, stream);
    }

    private void remove(Stream stream) {
        unlink(stream);
        remote.active--;
        tell(Listener::onStreamClosed, stream);
        open.remove(stream.id);
        tell(Listener::onStreamRemoved, stream);
        if (!stream.kept && !stream.resetSent && spares.size() < maxSpares) {
            Arrays.fill(stream.properties, null);
            spares.push(stream);
        }
        if (closed != null && open.isEmpty()) {
            closed.trySuccess(null);
        }
    }

    private void unlink(Stream stream) {
        Stream older = stream.older;
        Stream younger = stream.younger;
        if (older == null) {
            oldest = younger;
        } else {
            older.younger = younger;
        }
        if (younger == null) {
            newest = older;
        } else {
            younger.older = older;
        }
        stream.older = null;
        stream.younger = null;
    }

    /** An exception of a listener affects neither the other ones nor the stream. */
    private void tell(BiConsumer<Listener, Stream> event, Stream stream) {
        for (int i = 0; i < listeners.size(); i++) {
            try {
                event.accept(listeners.get(i), stream);
            } catch (Throwable e) {
                log.error("a listener of the connection threw an exception", e);
            }
        }
    }

    @Override
    public Future<Void> close(Promise<Void> promise) {
        Promise<Void> before = closed;
        if (before == null || before instanceof ChannelFuture future && future.isVoid()) {
            closed = promise;
        } else if (before != promise) {
            PromiseNotifier.cascade(before, promise);
        }
        if (open.isEmpty()) {
            promise.trySuccess(null);
            return promise;
        }
        visits++;
        for (Stream stream = oldest; stream != null; stream = stream.younger) {
            stream.close();
        }
        if (--visits == 0) {
            removeClosed();
        }
        return promise;
    }

    @Override
    public @Nullable Http2Stream forEachActiveStream(Http2StreamVisitor visitor) throws Http2Exception {
        visits++;
        try {
            for (Stream stream = oldest; stream != null; stream = stream.younger) {
                if (!visitor.visit(stream)) {
                    return stream;
                }
            }
            return null;
        } finally {
            if (--visits == 0) {
                removeClosed();
            }
        }
    }

    /** Streams stay in the list while it is visited. */
    private void removeClosed() {
        while (!closedDuringVisit.isEmpty()) {
            Stream[] ended = closedDuringVisit.toArray(new Stream[0]);
            closedDuringVisit.clear();
            for (Stream stream : ended) {
                remove(stream);
            }
        }
    }

    @Override
    public PropertyKey newKey() {
        return new Key(keys++);
    }

    @Override
    public void addListener(Listener listener) {
        listeners.add(listener);
    }

    @Override
    public void removeListener(Listener listener) {
        listeners.remove(listener);
    }

    @Override
    public @Nullable Http2Stream stream(int id) {
        return id == Http2CodecUtil.CONNECTION_STREAM_ID ? connectionStream : open.get(id);
    }

    /**
     * For Netty, a stream exists after it was opened. The body of a stream that was refused, or
     * whose headers were malformed, can be in transit and must not close the connection (RFC 9113
     * section 5.1, "closed").
     */
    @Override
    public boolean streamMayHaveExisted(int id) {
        return remote.isValidStreamId(id) && id <= Math.max(remote.lastCreated, reader.newestHeadId());
    }

    @Override
    public Http2Stream connectionStream() {
        return connectionStream;
    }

    @Override
    public int numActiveStreams() {
        return remote.active;
    }

    @Override
    public boolean isServer() {
        return true;
    }

    @Override
    public Endpoint<Http2LocalFlowController> local() {
        return local;
    }

    @Override
    public Endpoint<Http2RemoteFlowController> remote() {
        return remote;
    }

    @Override
    public boolean goAwayReceived() {
        return local.lastKnownByPeer >= 0;
    }

    @Override
    public void goAwayReceived(int lastKnownStream, long errorCode, ByteBuf message) throws Http2Exception {
        verifyNotHigher(local.lastKnownByPeer, lastKnownStream);
        local.lastKnownByPeer = lastKnownStream;
        tell((listener, all) -> listener.onGoAwayReceived(lastKnownStream, errorCode, message), connectionStream);
    }

    @Override
    public boolean goAwaySent() {
        return remote.lastKnownByPeer >= 0;
    }

    @Override
    public boolean goAwaySent(int lastKnownStream, long errorCode, ByteBuf message) throws Http2Exception {
        if (goAwaySent() && lastKnownStream == remote.lastKnownByPeer) {
            return false;
        }
        verifyNotHigher(remote.lastKnownByPeer, lastKnownStream);
        remote.lastKnownByPeer = lastKnownStream;
        tell((listener, all) -> listener.onGoAwaySent(lastKnownStream, errorCode, message), connectionStream);
        forEachActiveStream(stream -> {
            if (stream.id() > lastKnownStream) {
                stream.close();
            }
            return true;
        });
        return true;
    }

    /** RFC 9113 section 6.8: a later GOAWAY must not name a later stream. */
    private static void verifyNotHigher(int before, int now) throws Http2Exception {
        if (before >= 0 && before < now) {
            throw Http2Exception.connectionError(
                    Http2Error.PROTOCOL_ERROR, "GOAWAY with last stream %d after one with %d", now, before);
        }
    }
}
