package io.lambdadispatcher.server.admin;

import io.lambdadispatcher.core.observe.Protection;
import io.lambdadispatcher.server.admin.AdminConnection.Standing;
import io.netty.channel.Channel;
import io.netty.channel.ChannelInitializer;
import io.netty.handler.codec.http.HttpDecoderConfig;
import io.netty.handler.codec.http.HttpServerCodec;
import io.netty.handler.ssl.SslContext;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

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
    /** Separate, so that viewers without a token do not prevent events to those with one. */
    final Unwritten knownEvents = new Unwritten();

    final Guesses guesses = new Guesses();
    final Audit audit = new Audit();

    /** Viewers of the live page, the oldest one first. */
    private final Set<AdminConnection> streams = new LinkedHashSet<>();

    private volatile @Nullable SslContext tls;
    private volatile Consumer<String> changes = line -> {};

    /** @param tls {@code null} = none */
    AdminConnections(AdminPages pages, AdminAccess access, @Nullable SslContext tls, Consumer<Protection> protections) {
        this.pages = pages;
        this.access = access;
        this.tls = tls;
        this.protections = protections;
    }

    void setAccess(AdminAccess value) {
        access = value;
    }

    /** Replaces the certificate for connections that open from now on. */
    void setTls(@Nullable SslContext value) {
        tls = value;
    }

    AdminAccess access() {
        return access;
    }

    void setChanges(Consumer<String> value) {
        changes = value;
    }

    /** Returns what is told of each command that is accepted. */
    Consumer<String> changes() {
        return changes;
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
        SslContext secure = tls;
        if (secure != null) {
            channel.pipeline().addLast(secure.newHandler(channel.alloc()));
        }
        channel.pipeline().addLast(connection.firstByteWatch(), new HttpServerCodec(limits), connection);
    }

    /**
     * Adds a connection. At the maximum, closes the connection that has not changed its state for
     * the longest time, of those with the lowest standing.
     */
    void opened(AdminConnection connection) {
        if (open.size() >= MAX_CONNECTIONS) {
            protections.accept(Protection.ADMIN_CONNECTION_LIMIT);
            AdminConnection victim = open.stream()
                    .min(Comparator.comparing(AdminConnection::standing))
                    .orElseThrow();
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
        streams.remove(connection);
        if (open.isEmpty()) {
            audit.tellLeftOut();
        }
    }

    /**
     * Returns whether one more endless response may begin. At the maximum, it takes the place of
     * another: of one without a token, or if all have one, of any. Among these, the oldest one of
     * the host that has the most is closed, so that no host can take all places.
     */
    boolean mayStream(AdminConnection newer) {
        if (streams.size() >= MAX_STREAMS) {
            protections.accept(Protection.ADMIN_CONNECTION_LIMIT);
            AdminConnection victim = victim(newer);
            if (victim == null) {
                return false;
            }
            streams.remove(victim);
            victim.close();
        }
        streams.add(newer);
        return true;
    }

    private @Nullable AdminConnection victim(AdminConnection newer) {
        Standing lowest = streams.stream()
                .map(AdminConnection::standing)
                .min(Comparator.naturalOrder())
                .orElseThrow();
        if (lowest.compareTo(newer.standing()) > 0) {
            return null;
        }
        Map<Object, Integer> byNetwork = new HashMap<>();
        streams.stream()
                .filter(each -> each.standing() == lowest)
                .forEach(each -> byNetwork.merge(each.network(), 1, Integer::sum));
        Object most = Collections.max(byNetwork.entrySet(), Map.Entry.comparingByValue())
                .getKey();
        return streams.stream()
                .filter(each -> each.standing() == lowest && each.network().equals(most))
                .findFirst()
                .orElseThrow();
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
