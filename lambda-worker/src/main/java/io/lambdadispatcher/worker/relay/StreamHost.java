package io.lambdadispatcher.worker.relay;

import io.lambdadispatcher.wire.http2.CoalescedFlush;
import io.netty.channel.ChannelHandlerContext;
import io.netty.handler.codec.http2.Http2ConnectionHandler;

/** What a worker stream needs of its connection. Event loop only. */
public interface StreamHost {
    Http2ConnectionHandler http2();

    ChannelHandlerContext ctx();

    CoalescedFlush flush();

    /** New requests still go to the handler. */
    boolean admits();

    void onExchangeStarted();

    /** @param failed the response did not end as the handler meant it to */
    void onExchangeEnded(boolean failed, long requestBytes, long responseBytes);
}
