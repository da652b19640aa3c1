package io.lambdadispatcher.server.admin;

import io.lambdadispatcher.core.observe.Protection;
import io.netty.channel.Channel;
import io.netty.channel.ChannelInitializer;
import io.netty.handler.codec.http.HttpDecoderConfig;
import io.netty.handler.codec.http.HttpServerCodec;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.function.Consumer;

/**
 * All connections of the admin port, with common limits on their number and on unwritten bytes.
 * Confined to the port's event loop.
 */
final class AdminConnections extends ChannelInitializer<Channel> {
    static final int MAX_CONNECTIONS = 64;
    /** Viewers of the live page. */
    static final int MAX_STREAMS = 16;
    /** The metrics of 500 functions take 4 MB, and so does an event. */
    static final int MAX_UNWRITTEN_BYTES = 16 << 20;

    private static final int MAX_REQUEST_LINE_BYTES = 4096;
    private static final int MAX_HEAD_BYTES = 8192;

    private final AdminPages pages;
    private volatile AdminAccess access;
    private final Consumer<Protection> protections;
    /** Ordered by last state change, the most recent one last. */
    private final Set<AdminConnection> open = new LinkedHashSet<>();

    final Unwritten answers = new Unwritten();
    /** Separate, so that slow viewers of the live page do not prevent other answers. */
    final Unwritten events = new Unwritten();

    private int streams;

    AdminConnections(AdminPages pages, AdminAccess access, Consumer<Protection> protections) {
        this.pages = pages;
        this.access = access;
        this.protections = protections;
    }

    void setAccess(AdminAccess value) {
        access = value;
    }

    AdminAccess access() {
        return access;
    }

    @Override
    public boolean isSharable() {
        return true;
    }

    @Override
    protected void initChannel(Channel channel) {
        channel.config().setAutoRead(false);
        AdminConnection connection = new AdminConnection(this, pages, protections);
        HttpDecoderConfig limits = new HttpDecoderConfig()
                .setMaxInitialLineLength(MAX_REQUEST_LINE_BYTES)
                .setMaxHeaderSize(MAX_HEAD_BYTES);
        channel.pipeline().addLast(connection.firstByteWatch(), new HttpServerCodec(limits), connection);
    }

    /**
     * Adds a connection. At the maximum, closes the connection that has not changed its state for
     * the longest time. Connections without a response in progress are closed first.
     */
    void opened(AdminConnection connection) {
        if (open.size() >= MAX_CONNECTIONS) {
            protections.accept(Protection.ADMIN_CONNECTION_LIMIT);
            AdminConnection victim = open.stream()
                    .filter(other -> !other.isAnswering())
                    .findFirst()
                    .orElseGet(() -> open.iterator().next());
            // Immediately, because the next connection of this turn must not choose the same
            // victim.
            open.remove(victim);
            victim.close();
        }
        open.add(connection);
    }

    void closeAll() {
        List.copyOf(open).forEach(AdminConnection::close);
    }

    void changed(AdminConnection connection) {
        open.remove(connection);
        open.add(connection);
    }

    void closed(AdminConnection connection) {
        open.remove(connection);
    }

    /** Returns whether one more endless response may begin. If so, {@link #onStreamEnd} follows. */
    boolean mayStream() {
        if (streams == MAX_STREAMS) {
            protections.accept(Protection.ADMIN_CONNECTION_LIMIT);
            return false;
        }
        streams++;
        return true;
    }

    void onStreamEnd() {
        streams--;
    }

    /** Bytes of one kind that are not written yet. */
    final class Unwritten {
        private long bytes;

        /**
         * Returns whether this many more bytes may be written. If so, the caller calls {@link
         * #wrote} when the write has ended. Otherwise, the caller closes the connection.
         */
        boolean mayWrite(int more) {
            if (bytes > 0 && bytes + more > MAX_UNWRITTEN_BYTES) {
                protections.accept(Protection.ADMIN_CONNECTION_LIMIT);
                return false;
            }
            bytes += more;
            return true;
        }

        void wrote(int written) {
            bytes -= written;
        }
    }
}
