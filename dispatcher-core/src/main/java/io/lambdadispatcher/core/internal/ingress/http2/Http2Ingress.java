package io.lambdadispatcher.core.internal.ingress.http2;

import io.lambdadispatcher.core.internal.ingress.edge.HeadRules;
import io.lambdadispatcher.core.internal.ingress.edge.IngressContext;
import io.lambdadispatcher.core.options.HttpLimits;
import io.lambdadispatcher.wire.http.FlatHeadersDecoder;
import io.lambdadispatcher.wire.http2.Http2Assembly;
import io.netty.channel.ChannelPipeline;
import io.netty.handler.codec.http2.Http2Settings;

/** Puts HTTP/2 with its limits into the pipeline of a client's connection. */
public final class Http2Ingress {
    private Http2Ingress() {}

    /** Appends the handler; the connection's first bytes are its preface. */
    public static Http2ClientConnection install(ChannelPipeline pipeline, IngressContext context) {
        HttpLimits limits = context.limits();
        Http2ClientConnection handler = Http2Assembly.publicServer(
                new FlatHeadersDecoder(limits.maxHeadBytes(), HeadRules.MOST_FIELDS_ADDED),
                Http2Settings.defaultSettings()
                        .maxConcurrentStreams(limits.maxConcurrentStreams())
                        .initialWindowSize(limits.streamWindowBytes())
                        .maxHeaderListSize(limits.maxHeadBytes())
                        .connectProtocolEnabled(true),
                limits.maxResetsPerWindow(),
                parts -> new Http2ClientConnection(parts, context));
        pipeline.addLast(handler);
        return handler;
    }
}
