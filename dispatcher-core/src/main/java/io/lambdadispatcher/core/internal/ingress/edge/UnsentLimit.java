package io.lambdadispatcher.core.internal.ingress.edge;

import io.netty.channel.Channel;
import io.netty.channel.ChannelException;
import io.netty.channel.ChannelOption;
import java.util.List;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Limits how much of a response the kernel accepts before the client reads it (TCP_NOTSENT_LOWAT).
 * Without a limit, a send buffer grows to 4 MiB. Workers would then produce that much for each
 * client that does not read, and a slow client would seem to read nothing for minutes while the
 * buffer empties. Bytes that were sent and not acknowledged do not count, so the limit does not
 * slow down long paths.
 */
public final class UnsentLimit {
    private static final Logger log = LoggerFactory.getLogger(UnsentLimit.class);
    private static final long BYTES = 128 * 1024;

    /** Options by name, because the core depends on neither transport. NIO has no such option. */
    private static final List<ChannelOption<Long>> OPTIONS = List.of(
            ChannelOption.valueOf("io.netty.channel.epoll.EpollChannelOption#TCP_NOTSENT_LOWAT"),
            ChannelOption.valueOf("io.netty.channel.uring.IoUringChannelOption#TCP_NOTSENT_LOWAT"));

    private UnsentLimit() {}

    /** Sets the limit if the channel and the kernel support it. */
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
