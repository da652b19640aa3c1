package io.lambdadispatcher.core.internal.ingress.edge;

import io.netty.channel.Channel;
import io.netty.channel.ChannelException;
import io.netty.channel.ChannelOption;
import java.util.List;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * How much the kernel takes of a response before the client does (TCP_NOTSENT_LOWAT). Without a
 * limit, a send buffer grows to 4 MiB: for clients that take nothing, workers would make that much
 * each, and a slow client would seem to take nothing for minutes while the buffer empties. What has
 * been sent and not acknowledged does not count, so the limit does not slow down long paths.
 */
public final class UnsentLimit {
    private static final Logger log = LoggerFactory.getLogger(UnsentLimit.class);
    private static final long BYTES = 128 * 1024;

    /** By name, because the core depends on neither transport. NIO has no such option. */
    private static final List<ChannelOption<Long>> OPTIONS = List.of(
            ChannelOption.valueOf("io.netty.channel.epoll.EpollChannelOption#TCP_NOTSENT_LOWAT"),
            ChannelOption.valueOf("io.netty.channel.uring.IoUringChannelOption#TCP_NOTSENT_LOWAT"));

    private UnsentLimit() {}

    /** Sets the limit if channel and kernel have one. */
    public static void set(Channel channel) {
        try {
            for (ChannelOption<Long> option : OPTIONS) {
                if (channel.config().setOption(option, BYTES)) {
                    return;
                }
            }
        } catch (ChannelException e) {
            log.debug("{} has no limit of what the kernel takes: {}", channel, e.toString());
        }
    }
}
