package io.lambdadispatcher.core.internal.ingress.http2;

import io.lambdadispatcher.core.internal.ingress.edge.AbruptClose;
import io.lambdadispatcher.core.internal.ingress.edge.ClientAccount;
import io.lambdadispatcher.core.internal.ingress.edge.ConnectionAge;
import io.lambdadispatcher.core.internal.ingress.edge.HeadRules;
import io.lambdadispatcher.core.internal.ingress.edge.IngressContext;
import io.lambdadispatcher.core.internal.ingress.edge.IngressDrain;
import io.lambdadispatcher.core.internal.ingress.edge.LingeringClose;
import io.lambdadispatcher.core.internal.ingress.edge.LoopWatch;
import io.lambdadispatcher.core.internal.ingress.edge.Pace;
import io.lambdadispatcher.core.internal.ingress.edge.ResponseDate;
import io.lambdadispatcher.core.internal.ingress.edge.WriteWatch;
import io.lambdadispatcher.core.observe.Protection;
import io.lambdadispatcher.core.options.HttpLimits;
import io.lambdadispatcher.wire.http.FlatHeadersDecoder;
import io.lambdadispatcher.wire.http.HeaderSyntax;
import io.lambdadispatcher.wire.http.PrintableText;
import io.lambdadispatcher.wire.http2.CoalescingHttp2Handler;
import io.lambdadispatcher.wire.http2.EagerFrameReader;
import io.lambdadispatcher.wire.http2.Http2Assembly;
import io.lambdadispatcher.wire.http2.Http2Events;
import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelPipeline;
import io.netty.handler.codec.DecoderException;
import io.netty.handler.codec.http2.Http2CodecUtil;
import io.netty.handler.codec.http2.Http2Error;
import io.netty.handler.codec.http2.Http2Exception;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.handler.codec.http2.Http2Settings;
import io.netty.handler.codec.http2.Http2Stream;
import java.io.IOException;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A client's HTTP/2 connection (RFC 9113). It passes frames to their {@link Http2ClientStream}, and
 * closes the connection if it is idle, stuck, malicious, old or drained. Event loop only.
 */
public final class Http2ClientConnection extends CoalescingHttp2Handler
        implements IngressDrain.Drainable, LoopWatch.Watched, ClientAccount.Holder {
    private static final Logger log = LoggerFactory.getLogger(Http2ClientConnection.class);

    /** The headers of a request, and priorities and window updates that clients send with it. */
    private static final int FRAMES_OF_REQUEST = 5;

    /**
     * Two WINDOW_UPDATEs, of stream and connection, and a PING that measures the bandwidth. Some
     * clients send these for each part of a response that they read.
     */
    private static final int FRAMES_OF_READ = 3;

    /** The smallest part that clients read if more of a response has arrived. */
    private static final int MIN_READ_BYTES = 512;

    private static final long RESET_WINDOW_NANOS = TimeUnit.SECONDS.toNanos(30);

    private final IngressContext context;
    private final EagerFrameReader reader;
    private final ClientStreams streams = new ClientStreams(this);
    private final RecentStreams recent = new RecentStreams();
    private final GracefulGoAway goAway = new GracefulGoAway(this);
    private @Nullable HeadRules rules;
    private @Nullable WriteWatch writes;
    private @Nullable LoopWatch watch;
    private @Nullable ConnectionAge age;
    private @Nullable CharSequence lastAuthority;
    private long idleSinceNanos;

    /**
     * Number of frames that the reader had finished at the last check, or -1 if it was not inside a
     * frame.
     */
    private long finishedAtLook = -1;

    private long unfinishedSinceNanos;

    /** How fast the client reads responses that wait for the connection's window. */
    private @Nullable Pace responsePace;

    /** Bytes of response bodies that were sent, over all streams. */
    private long taken;

    /** Number of streams that were reset because of the client since {@link #resetsSinceNanos}. */
    private int resets;

    private long resetsSinceNanos;

    /** The stream of the RST_STREAM frame that was read last. */
    private int resetId;

    private Http2ClientConnection(Http2Assembly.Parts parts, IngressContext context) {
        super(parts);
        this.context = context;
        this.reader = parts.reader();
    }

    /**
     * Adds a client's connection to the pipeline. The first bytes that it receives are the preface.
     */
    public static void install(ChannelPipeline pipeline, IngressContext context) {
        HttpLimits limits = context.limits();
        Http2ClientConnection handler = Http2Assembly.publicServer(
                new FlatHeadersDecoder(
                        limits.maxHeaderBytes(),
                        HeadRules.fieldsAdded(context.headers().policy())),
                Http2Settings.defaultSettings()
                        .maxConcurrentStreams(limits.maxConcurrentStreams())
                        .initialWindowSize(limits.streamWindowBytes())
                        .maxHeaderListSize(limits.maxHeaderBytes())
                        .connectProtocolEnabled(true),
                parts -> new Http2ClientConnection(parts, context));
        pipeline.addLast(new LingeringClose(), handler);
    }

    @Override
    public void handlerAdded(ChannelHandlerContext ctx) throws Exception {
        Frames frames = new Frames();
        decoder().frameListener(frames);
        connection().addListener(frames);
        super.handlerAdded(ctx);
        if (ctx.channel().isActive()) {
            start(ctx);
        }
    }

    @Override
    public void channelActive(ChannelHandlerContext ctx) throws Exception {
        super.channelActive(ctx);
        start(ctx);
    }

    private void start(ChannelHandlerContext ctx) {
        if (rules != null) {
            return;
        }
        rules = new HeadRules(context, ResponseDate.of(ctx.executor()));
        growConnectionWindow(moreThanAllStreams(context.limits()));
        // Netty would set the limit only when the client acknowledges the SETTINGS, which a client
        // can delay.
        connection().remote().maxActiveStreams(context.limits().maxConcurrentStreams());
        idleSinceNanos = now(ctx);
        age = new ConnectionAge(context.limits().maxConnectionAge(), idleSinceNanos);
        resetsSinceNanos = idleSinceNanos;
        writes = new WriteWatch(ctx.channel());
        watch = LoopWatch.of(ctx.executor());
        watch.add(this);
        context.drain().register(ctx.channel(), this);
        context.account().heldBy(this);
    }

    /**
     * Returns twice the sum of the streams' windows. With a smaller window, uploads that wait for a
     * worker could fill it and stop those that a worker has. The client learns of bytes that were
     * read when they are half of the window. Only the streams' windows bound the memory.
     */
    private static int moreThanAllStreams(HttpLimits limits) {
        long twice = 2L * limits.maxConcurrentStreams() * limits.streamWindowBytes();
        return (int) Math.min(Integer.MAX_VALUE - Http2CodecUtil.DEFAULT_WINDOW_SIZE, twice);
    }

    @Override
    public void channelInactive(ChannelHandlerContext ctx) throws Exception {
        if (watch != null) {
            watch.remove(this);
        }
        super.channelInactive(ctx);
    }

    @Override
    public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) throws Exception {
        // TLS wraps its errors.
        Throwable root = cause instanceof DecoderException && cause.getCause() != null ? cause.getCause() : cause;
        if (root instanceof IOException) {
            log.debug("client {}: {}", context.client(), PrintableText.startOf(root));
            ctx.close();
        } else {
            super.exceptionCaught(ctx, cause);
        }
    }

    @Override
    protected void onConnectionError(
            ChannelHandlerContext ctx, boolean outbound, Throwable cause, @Nullable Http2Exception error) {
        if (error == null && !(cause instanceof IOException)) {
            log.error(
                    "client {}: a fault of the dispatcher, please report it. The connection is closed",
                    context.client(),
                    cause);
        } else {
            log.debug("client {}: connection error: {}", context.client(), PrintableText.startOf(cause));
        }
        super.onConnectionError(ctx, outbound, cause, error);
        // Later, because a stream can be on the stack. The channel closes when the client has had
        // time to read why.
        ctx.executor().execute(this::giveUp);
    }

    private void giveUp() {
        if (watch != null) {
            watch.remove(this);
        }
        release();
    }

    @Override
    protected void onStreamError(
            ChannelHandlerContext ctx, boolean outbound, Throwable cause, Http2Exception.StreamException error) {
        if (outbound) {
            super.onStreamError(ctx, true, cause, error);
            return;
        }
        Http2Stream stream = connection().stream(error.streamId());
        if (stream == null && isLateFrame(error)) {
            return;
        }
        // No work was started for a refused stream. A client may not know the limit when it sends
        // its first requests.
        if (error.error() != Http2Error.REFUSED_STREAM) {
            countReset();
        }
        if (stream != null && isHeadAfterEnd(stream)) {
            reset(stream, Http2Error.STREAM_CLOSED);
        } else {
            super.onStreamError(ctx, false, cause, error);
        }
    }

    /**
     * Handles an error of a stream that is not open, if a late frame has caused it.
     *
     * @return false if the error must be handled like one of an open stream
     */
    private boolean isLateFrame(Http2Exception.StreamException error) {
        int id = error.streamId();
        int newest = connection().remote().lastStreamCreated();
        if (id > Math.max(newest, reader.newestHeadId())) {
            if (!reader.isReadingHead()) {
                breakOff(Http2Error.PROTOCOL_ERROR, "a malformed frame for stream " + id + ", which is idle");
                return true;
            }
            // These are its headers, which are refused, malformed or too large. Its body may be in
            // transit.
            recent.add(id, RecentStreams.End.RESET_BY_US);
            return false;
        }
        RecentStreams.End end = recent.of(id, newest);
        return switch (end) {
            case RESET_BY_US, UNKNOWN -> true;
            case ENDED -> {
                breakOff(Http2Error.STREAM_CLOSED, "a frame for stream " + id + ", which has ended");
                yield true;
            }
            case SKIPPED -> {
                breakOff(Http2Error.PROTOCOL_ERROR, "stream " + id + " is opened after later ones");
                yield true;
            }
            case RESET_BY_CLIENT -> false;
        };
    }

    /**
     * Returns whether the error is a HEADERS frame after the end of the request. Netty mistakes it
     * for second request headers, and reports another error code.
     */
    private boolean isHeadAfterEnd(Http2Stream stream) {
        return reader.isReadingHead() && !stream.state().remoteSideOpen() && streams.of(stream) != null;
    }

    /** Resets a stream because of a fault of the client. */
    void resetForFault(Http2Stream stream, Http2Error error) {
        countReset();
        reset(stream, error);
    }

    /**
     * Counts a reset. Whichever side resets a stream, the client can open another one immediately,
     * and cancelling its request costs time (CVE-2023-44487, CVE-2025-8671).
     */
    private void countReset() {
        int limit = context.limits().maxResetsPerWindow();
        if (++resets == limit + 1) {
            context.observer().onProtection(Protection.TOO_MANY_RESETS);
            breakOff(Http2Error.ENHANCE_YOUR_CALM, "more than " + limit + " resets and stream errors");
        }
    }

    private void breakOff(Http2Error error, String reason) {
        onError(ctx(), false, Http2Exception.connectionError(error, reason));
    }

    @Override
    public void drain() {
        goAway.begin();
    }

    /** Called whenever all streams of a connection that drains may have become tunnels. */
    void leaveDrainIfOnlyTunnels() {
        if (goAway.isEnding() && connection().numActiveStreams() > 0 && streams.areTunnels()) {
            context.drain().leave(ctx().channel());
        }
    }

    @Override
    public void look(long now) {
        ChannelHandlerContext ctx = ctx();
        streams.dropEnded();
        if (now - resetsSinceNanos > RESET_WINDOW_NANOS) {
            resetsSinceNanos = now;
            resets = 0;
            reader.budget().renew();
        }
        HttpLimits limits = context.limits();
        boolean active = connection().numActiveStreams() > 0;
        if (Objects.requireNonNull(writes).isTooSlow(now, limits.writeTimeout().toNanos(), limits.minDataRate())) {
            // A reset of the stream would wait behind everything that the client does not read, and
            // the stream would stay open.
            log.debug("client {}: reads its responses too slowly", context.client());
            context.observer().onProtection(Protection.RESPONSE_TOO_SLOW);
            AbruptClose.of(ctx.channel());
        } else if (!active && now - idleSinceNanos > idleNanos()) {
            log.debug(
                    "client {}: no {} within {} ms",
                    context.client(),
                    decoder().prefaceReceived() ? "request" : "HTTP/2 preface",
                    TimeUnit.NANOSECONDS.toMillis(idleNanos()));
            ctx.channel().close();
        } else if (isHeadSlow(now)) {
            breakOff(
                    Http2Error.ENHANCE_YOUR_CALM,
                    "the request headers took longer than "
                            + limits.headerTimeout().toMillis() + " ms");
        } else {
            if (Objects.requireNonNull(age).isReached(now)) {
                goAway.begin();
            }
            if (active) {
                lookAtStreams(now);
            }
        }
    }

    private long idleNanos() {
        HttpLimits limits = context.limits();
        return (decoder().prefaceReceived() ? limits.idleTimeout() : limits.headerTimeout()).toNanos();
    }

    private boolean isHeadSlow(long now) {
        long finished = isReading() && reader.isUnfinished() ? reader.finished() : -1;
        if (finished != finishedAtLook) {
            finishedAtLook = finished;
            unfinishedSinceNanos = now;
        }
        return finished >= 0
                && now - unfinishedSinceNanos > context.limits().headerTimeout().toNanos();
    }

    /**
     * Returns whether bytes of the client are read. They are not if the memory for clients is used
     * up.
     */
    private boolean isReading() {
        return ctx().channel().config().isAutoRead();
    }

    private void lookAtStreams(long now) {
        boolean reading = isReading();
        boolean windowOpen = isExpectingBody(connection().connectionStream());
        long waiting = streams.sum(stream -> stream.look(now, reading, windowOpen) ? 1 : 0);
        lookAtWindow(now, waiting > 0);
    }

    /**
     * Checks the connection's window. All streams wait for it, so the sum of their rates counts.
     *
     * @param responsesWait whether a stream has a part of a response to send
     */
    private void lookAtWindow(long now, boolean responsesWait) {
        HttpLimits limits = context.limits();
        boolean waitedFor =
                isReading() && responsesWait && isWindowClosed(connection().connectionStream());
        responsePace = responsePace == null && waitedFor ? new Pace() : responsePace;
        if (responsePace != null
                && responsePace.isTooSlow(
                        now, waitedFor, taken, limits.writeTimeout().toNanos(), limits.minDataRate())) {
            context.observer().onProtection(Protection.RESPONSE_TOO_SLOW);
            breakOff(Http2Error.ENHANCE_YOUR_CALM, "the client opens the connection's flow-control window too slowly");
        }
    }

    /** Returns whether the stream's window is closed, whatever room the connection has. */
    boolean isWindowClosed(Http2Stream stream) {
        return encoder().flowController().windowSize(stream) <= 0;
    }

    /** Returns whether the stream's window lets the client send more of a request's body. */
    boolean isExpectingBody(Http2Stream stream) {
        return connection().local().flowController().windowSize(stream) > 0;
    }

    /**
     * Counts bytes of a response body that have left the queue of their stream.
     *
     * @param more whether others wait there. Then a part is small because the client opens its
     *     window by a few bytes each time
     */
    void onTaken(int bytes, boolean more) {
        long reads = (taken + bytes) / MIN_READ_BYTES - taken / MIN_READ_BYTES + (more ? 0 : 1);
        taken += bytes;
        reader.budget().refund(FRAMES_OF_READ * (int) reads);
    }

    /** A part of a request's body was passed on. The network decides how many a frame has. */
    void onRequestPart() {
        if (!reader.isContinuingData()) {
            reader.budget().refund(1);
        }
    }

    private static long now(ChannelHandlerContext ctx) {
        return ctx.executor().ticker().nanoTime();
    }

    /**
     * Returns whether the text is the connection's authority. Most clients use one authority, for
     * which HPACK returns the same object.
     */
    boolean isAuthority(CharSequence text) {
        if (text == lastAuthority) {
            return true;
        }
        boolean valid = HeaderSyntax.isAuthority(text);
        lastAuthority = valid ? text : null;
        return valid;
    }

    @Override
    public void release() {
        streams.endAll();
    }

    @Override
    public long heldBytes() {
        long bytes = actualReadableBytes() + reader.headerBlockBytes();
        return connection().numActiveStreams() == 0 ? bytes : bytes + streams.sum(Http2ClientStream::heldBytes);
    }

    IngressContext context() {
        return context;
    }

    HeadRules rules() {
        return Objects.requireNonNull(rules, "connection is not active yet");
    }

    /** Passes Netty's events to the stream that they belong to. */
    private final class Frames extends Http2Events {
        @Override
        public void onHeadersRead(ChannelHandlerContext c, int id, Http2Headers head, int padding, boolean end)
                throws Http2Exception {
            Http2Stream stream = connection().stream(id);
            if (stream == null) {
                return;
            }
            Http2ClientStream known = streams.of(stream);
            if (known != null) {
                reader.budget().refund(1);
                known.onRequestTrailers(head);
                return;
            }
            reader.budget().refund(FRAMES_OF_REQUEST);
            Http2ClientStream client = streams.open(stream);
            try {
                client.onRequestHead(head, end);
            } catch (RuntimeException e) {
                throw failed(stream, e);
            }
        }

        /**
         * Returns the error that resets only this stream, because other requests of the connection
         * can be served.
         */
        private Http2Exception failed(Http2Stream stream, RuntimeException cause) {
            log.error(
                    "client {}: a fault of the dispatcher, please report it. Stream {} is reset",
                    context.client(),
                    stream.id(),
                    cause);
            streams.abandon(stream);
            return Http2Exception.streamError(
                    stream.id(), Http2Error.INTERNAL_ERROR, cause, "the request of stream %d failed", stream.id());
        }

        @Override
        public int onDataRead(ChannelHandlerContext c, int id, ByteBuf data, int padding, boolean end) {
            Http2ClientStream client = streams.of(id);
            if (client == null) {
                return data.readableBytes() + padding;
            }
            return client.onRequestData(data, end) + padding;
        }

        @Override
        public void onPingAckRead(ChannelHandlerContext c, long data) {
            goAway.onPingAck(data);
        }

        @Override
        public void onRstStreamRead(ChannelHandlerContext c, int id, long errorCode) {
            resetId = id;
            Http2ClientStream client = streams.of(id);
            if (client == null || !client.isAnsweredEarly()) {
                countReset();
            }
        }

        @Override
        public void onStreamHalfClosed(Http2Stream stream) {
            Http2ClientStream client = streams.of(stream);
            if (client != null) {
                client.onHalfClosed();
            }
        }

        @Override
        public void onStreamClosed(Http2Stream stream) {
            recent.add(
                    stream.id(),
                    stream.isResetSent()
                            ? RecentStreams.End.RESET_BY_US
                            : stream.id() == resetId ? RecentStreams.End.RESET_BY_CLIENT : RecentStreams.End.ENDED);
            streams.onClosed(stream);
            if (connection().numActiveStreams() <= 1) {
                idleSinceNanos = now(ctx());
            }
            leaveDrainIfOnlyTunnels();
        }
    }
}
