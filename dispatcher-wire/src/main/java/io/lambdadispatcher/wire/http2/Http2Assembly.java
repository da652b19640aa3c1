package io.lambdadispatcher.wire.http2;

import io.netty.handler.codec.http2.AbstractHttp2ConnectionHandlerBuilder;
import io.netty.handler.codec.http2.DefaultHttp2Connection;
import io.netty.handler.codec.http2.DefaultHttp2ConnectionDecoder;
import io.netty.handler.codec.http2.DefaultHttp2ConnectionEncoder;
import io.netty.handler.codec.http2.DefaultHttp2LocalFlowController;
import io.netty.handler.codec.http2.Http2Connection;
import io.netty.handler.codec.http2.Http2ConnectionDecoder;
import io.netty.handler.codec.http2.Http2ConnectionEncoder;
import io.netty.handler.codec.http2.Http2EventAdapter;
import io.netty.handler.codec.http2.Http2HeadersDecoder;
import io.netty.handler.codec.http2.Http2PromisedRequestVerifier;
import io.netty.handler.codec.http2.Http2Settings;
import java.util.function.Function;

/**
 * Builds an HTTP/2 connection in the same way for clients, workers and applications: with fair flow
 * control, frames gathered into large writes, and DATA passed on as it arrives. The handler that is
 * made from the {@link Parts} sets its frame listener before the first frame can arrive.
 */
public final class Http2Assembly<T extends CoalescingHttp2Handler>
        extends AbstractHttp2ConnectionHandlerBuilder<T, Http2Assembly<T>> {

    /** What a handler is made of. */
    public record Parts(
            Http2ConnectionDecoder decoder,
            Http2ConnectionEncoder encoder,
            GatheringFrameWriter frames,
            EagerFrameReader reader,
            Http2Settings settings) {}

    /** Maximum number of empty DATA frames in a row from an untrusted peer (CVE-2019-9518). */
    private static final int MAX_EMPTY_DATA_FRAMES = 8;

    /**
     * Maximum number of frames without effect from an untrusted peer until its budget is renewed.
     * It is enough for a client whose uploads of 160 MB are refused while they are in transit, in
     * frames of 16 KiB.
     */
    private static final int MAX_IDLE_FRAMES = 10_000;

    private static final long FOREVER_MILLIS = -1;

    /** Maximum number of objects of ended streams that a public connection keeps for later ones. */
    private static final int MAX_SPARE_STREAMS = 16;

    private final Function<Parts, T> factory;
    private final GatheringFrameWriter frames = new GatheringFrameWriter();
    private final EagerFrameReader reader;

    private Http2Assembly(EagerFrameReader reader, Http2Settings settings, Function<Parts, T> factory) {
        this.factory = factory;
        this.reader = reader;
        initialSettings(settings);
        gracefulShutdownTimeoutMillis(0);
        decoderEnforceMaxConsecutiveEmptyDataFrames(0);
        decoderEnforceMaxRstFramesPerWindow(0, 0);
        // The builder requires a listener.
        frameListener(new Http2EventAdapter() {});
    }

    /**
     * Builds a server for peers that must authenticate. It does not wait for streams when the
     * channel is closed.
     *
     * @param heads decodes the peer's headers
     */
    public static <T extends CoalescingHttp2Handler> T server(
            Http2HeadersDecoder heads, Http2Settings settings, Function<Parts, T> factory) {
        return new Http2Assembly<>(new EagerFrameReader(heads), settings, factory).buildServer(false, 0);
    }

    /**
     * Builds a server for untrusted peers. It checks that all pseudo-headers are present, and
     * limits empty DATA frames in a row, and all frames without effect. The handler gives those
     * back that have one, renews the {@link EagerFrameReader#budget}, and limits resets. When the
     * channel is closed, open streams are served to their end.
     */
    public static <T extends CoalescingHttp2Handler> T publicServer(
            Http2HeadersDecoder heads, Http2Settings settings, Function<Parts, T> factory) {
        EagerFrameReader reader = new EagerFrameReader(heads, new FrameBudget(MAX_IDLE_FRAMES));
        return new Http2Assembly<>(reader, settings, factory)
                .decoderEnforceMaxConsecutiveEmptyDataFrames(MAX_EMPTY_DATA_FRAMES)
                .gracefulShutdownTimeoutMillis(FOREVER_MILLIS)
                .buildServer(true, MAX_SPARE_STREAMS);
    }

    private T buildServer(boolean verifyPseudoHeaders, int spareStreams) {
        Http2Connection connection = new ReusingHttp2Connection(reader, spareStreams);
        connection.local().flowController(new StrictFlowController(connection));
        return build(connection, verifyPseudoHeaders);
    }

    /**
     * Builds a client. The windows of its streams limit the memory. A window of the connection
     * would only let one slow reader block the others, so it is refilled as data arrives. The
     * client does not wait for streams when the channel is closed.
     */
    public static <T extends CoalescingHttp2Handler> T client(
            Http2HeadersDecoder heads, Http2Settings settings, Function<Parts, T> factory) {
        Http2Connection connection = new DefaultHttp2Connection(false);
        connection
                .local()
                .flowController(new DefaultHttp2LocalFlowController(
                        connection, DefaultHttp2LocalFlowController.DEFAULT_WINDOW_UPDATE_RATIO, true));
        return new Http2Assembly<>(new EagerFrameReader(heads), settings, factory).build(connection, false);
    }

    private T build(Http2Connection connection, boolean verifyPseudoHeaders) {
        connection.remote().flowController(new FairFlowController(connection));
        Http2ConnectionEncoder encoder = new DefaultHttp2ConnectionEncoder(connection, frames);
        Http2ConnectionDecoder decoder = new DefaultHttp2ConnectionDecoder(
                connection,
                encoder,
                reader,
                Http2PromisedRequestVerifier.ALWAYS_VERIFY,
                true,
                true,
                true,
                verifyPseudoHeaders);
        return codec(decoder, encoder).build();
    }

    @Override
    protected T build(Http2ConnectionDecoder decoder, Http2ConnectionEncoder encoder, Http2Settings settings) {
        return factory.apply(new Parts(decoder, encoder, frames, reader, settings));
    }
}
