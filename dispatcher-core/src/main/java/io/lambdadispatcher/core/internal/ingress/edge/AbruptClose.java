package io.lambdadispatcher.core.internal.ingress.edge;

import io.netty.channel.Channel;
import io.netty.channel.ChannelOption;

/**
 * The end of a connection that no client can take for a clean one: a TCP reset. Needed where the
 * end of the connection could pass for the end of a response's body.
 */
public final class AbruptClose {
    private AbruptClose() {}

    /** Event loop of {@code channel} only. Harmless if it is closed. */
    public static void of(Channel channel) {
        if (!channel.isOpen()) {
            return; // and there is no socket any more whose option could be set
        }
        channel.config().setOption(ChannelOption.SO_LINGER, 0);
        // Past the pipeline: TLS would send close_notify, which is a clean end.
        channel.unsafe().close(channel.newPromise());
    }
}
