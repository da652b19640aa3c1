package io.lambdadispatcher.core.internal.ingress.edge;

import io.netty.channel.Channel;
import io.netty.channel.ChannelOption;

/**
 * Ends a connection with a TCP reset, which no client mistakes for a clean end. It is needed if a
 * clean end would mean the end of a response's body.
 */
public final class AbruptClose {
    private AbruptClose() {}

    /** Resets the connection. Has no effect if it is closed. Event loop of {@code channel} only. */
    public static void of(Channel channel) {
        if (!channel.isOpen()) {
            return; // setting an option of a closed socket would fail
        }
        channel.config().setOption(ChannelOption.SO_LINGER, 0);
        // Bypasses the pipeline, because TLS would send close_notify, which is a clean end.
        channel.unsafe().close(channel.newPromise());
    }
}
