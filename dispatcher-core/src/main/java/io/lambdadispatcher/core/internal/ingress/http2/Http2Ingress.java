package io.lambdadispatcher.core.internal.ingress.http2;

import io.lambdadispatcher.core.internal.ingress.edge.HeadRules;
import io.lambdadispatcher.core.internal.ingress.edge.IngressContext;
import io.lambdadispatcher.core.options.HttpLimits;
import io.lambdadispatcher.wire.http.FlatHeadersDecoder;
import io.lambdadispatcher.wire.http2.EagerFrameReader;
import io.lambdadispatcher.wire.http2.FairFlowController;
import io.lambdadispatcher.wire.http2.GatheringFrameWriter;
import io.netty.channel.ChannelPipeline;
import io.netty.handler.codec.http2.AbstractHttp2ConnectionHandlerBuilder;
import io.netty.handler.codec.http2.DefaultHttp2Connection;
import io.netty.handler.codec.http2.DefaultHttp2ConnectionDecoder;
import io.netty.handler.codec.http2.DefaultHttp2ConnectionEncoder;
import io.netty.handler.codec.http2.Http2Connection;
import io.netty.handler.codec.http2.Http2ConnectionDecoder;
import io.netty.handler.codec.http2.Http2ConnectionEncoder;
import io.netty.handler.codec.http2.Http2EventAdapter;
import io.netty.handler.codec.http2.Http2PromisedRequestVerifier;
import io.netty.handler.codec.http2.Http2Settings;
import org.jspecify.annotations.Nullable;

/** Puts HTTP/2 with its limits into the pipeline of a client's connection. */
public final class Http2Ingress {
    /** Empty DATA frames in a row (CVE-2019-9518). */
    private static final int MAX_EMPTY_DATA_FRAMES = 8;

    private static final int RESET_WINDOW_SECONDS = 30;

    private Http2Ingress() {}

    /** Appends the handler; the connection's first octets are its preface. */
    public static Http2ClientConnection install(ChannelPipeline pipeline, IngressContext context) {
        Http2ClientConnection handler = new Builder(context).build();
        pipeline.addLast(handler);
        return handler;
    }

    private static final class Builder extends AbstractHttp2ConnectionHandlerBuilder<Http2ClientConnection, Builder> {
        private final IngressContext context;
        private final GatheringFrameWriter frames = new GatheringFrameWriter();
        private @Nullable EagerFrameReader reader;

        Builder(IngressContext context) {
            this.context = context;
        }

        @Override
        protected Http2ClientConnection build() {
            HttpLimits limits = context.limits();
            initialSettings(Http2Settings.defaultSettings()
                    .maxConcurrentStreams(limits.maxConcurrentStreams())
                    .initialWindowSize(limits.streamWindowBytes())
                    .maxHeaderListSize(limits.maxHeadBytes())
                    .connectProtocolEnabled(true));
            // Served while the dispatcher waits, for as long as that waits.
            gracefulShutdownTimeoutMillis(-1);
            decoderEnforceMaxConsecutiveEmptyDataFrames(MAX_EMPTY_DATA_FRAMES);
            decoderEnforceMaxRstFramesPerWindow(limits.maxResetsPerWindow(), RESET_WINDOW_SECONDS);
            // Replaced before the first frame can arrive; the builder insists on having one.
            frameListener(new Http2EventAdapter() {});

            Http2Connection connection = new DefaultHttp2Connection(true);
            connection.remote().flowController(new FairFlowController(connection));
            Http2ConnectionEncoder encoder = new DefaultHttp2ConnectionEncoder(connection, frames);
            EagerFrameReader eager =
                    new EagerFrameReader(new FlatHeadersDecoder(limits.maxHeadBytes(), HeadRules.MOST_FIELDS_ADDED));
            codec(
                    new DefaultHttp2ConnectionDecoder(
                            connection,
                            encoder,
                            eager,
                            Http2PromisedRequestVerifier.ALWAYS_VERIFY,
                            true,
                            true,
                            true,
                            true),
                    encoder);
            reader = eager;
            return super.build();
        }

        @Override
        protected Http2ClientConnection build(
                Http2ConnectionDecoder decoder, Http2ConnectionEncoder encoder, Http2Settings settings) {
            if (reader == null) {
                throw new IllegalStateException("built without a reader");
            }
            return new Http2ClientConnection(decoder, encoder, frames, settings, reader, context);
        }
    }
}
