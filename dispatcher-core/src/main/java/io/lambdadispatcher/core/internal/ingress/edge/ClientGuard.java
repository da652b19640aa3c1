package io.lambdadispatcher.core.internal.ingress.edge;

import io.lambdadispatcher.core.internal.exchange.ExchangeOpener;
import io.lambdadispatcher.core.observe.ClientSnapshot;
import io.lambdadispatcher.core.observe.DispatcherObserver;
import io.lambdadispatcher.core.observe.Protection;
import io.lambdadispatcher.core.options.HttpLimits;
import io.netty.channel.Channel;
import io.netty.channel.EventLoop;
import io.netty.handler.ssl.SslHandler;
import io.netty.util.internal.PlatformDependent;
import java.net.Inet4Address;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.nio.ByteBuffer;
import java.util.Collection;
import java.util.IdentityHashMap;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * Decides which client connections are served, so that clients cannot take memory or file
 * descriptors from workers. Any thread, except for {@link #admit}, {@link #admitAddress} and {@link
 * #addTls}.
 */
public final class ClientGuard {
    /** Handlers, codecs and HPACK tables of an idle connection. */
    private static final int PLAIN_BYTES = 8 * 1024;

    /**
     * Handlers, codecs and HPACK tables of an idle connection, and the buffers of TLS, which are
     * neither on the heap nor in direct memory.
     */
    private static final int TLS_BYTES = 40 * 1024;

    private volatile int maxConnections;
    private volatile int maxPerAddress;
    private final long limitBytes;
    private final DispatcherObserver observer;
    private final Map<EventLoop, ClientMemory> memories = new IdentityHashMap<>();
    private final Map<EventLoop, FairReads> reads = new IdentityHashMap<>();
    private final Map<EventLoop, HandshakeTurns> handshakes = new IdentityHashMap<>();
    private final AtomicInteger connections = new AtomicInteger();

    /** Connections that the dispatcher's ports have accepted and that are not closed yet. */
    private final AtomicInteger sockets = new AtomicInteger();

    private final ConcurrentHashMap<Long, Integer> perAddress = new ConcurrentHashMap<>();

    /**
     * @param maxConnections limit of {@code limits}, or less if there are not enough file
     *     descriptors
     */
    public ClientGuard(
            HttpLimits limits, int maxConnections, Collection<EventLoop> loops, DispatcherObserver observer) {
        this.maxConnections = maxConnections;
        this.maxPerAddress = limits.maxConnectionsPerAddress();
        this.limitBytes = limits.clientMemoryBytes() > 0 ? limits.clientMemoryBytes() : defaultLimitBytes();
        this.observer = observer;
        for (EventLoop loop : loops) {
            memories.put(loop, new ClientMemory(loop, limitBytes / loops.size(), observer));
            reads.put(loop, new FairReads(loop));
            handshakes.put(loop, new HandshakeTurns(loop, observer));
        }
    }

    /**
     * Changes the limits of connections. Connections that are open stay open. The memory of clients
     * does not change.
     */
    public void setLimits(HttpLimits limits, int connectionsLimit) {
        maxConnections = connectionsLimit;
        maxPerAddress = limits.maxConnectionsPerAddress();
    }

    /**
     * Returns half of the heap or of the direct memory, whichever is smaller, because headers are
     * on the heap and bodies in direct memory. The other half is for everything else: connections
     * of workers, buffers that sockets are read into, unused memory of the allocator, and the AWS
     * client.
     */
    private static long defaultLimitBytes() {
        long heap = Runtime.getRuntime().maxMemory();
        long direct = PlatformDependent.maxDirectMemory();
        return (direct > 0 ? Math.min(heap, direct) : heap) / 2;
    }

    /**
     * Counts a connection that a port has accepted. The port must not wait for {@link #admit} on
     * the connection's event loop: while that loop is late, the port would accept connections until
     * there are no file descriptors left. Any thread.
     *
     * @return false if there are too many connections; the caller must close it
     */
    public boolean onAccepted(Channel channel) {
        int max = maxConnections;
        if (sockets.getAndUpdate(count -> count < max ? count + 1 : count) >= max) {
            observer.onProtection(Protection.CONNECTION_LIMIT);
            return false;
        }
        channel.closeFuture().addListener(closed -> sockets.decrementAndGet());
        return true;
    }

    /**
     * Admits a connection if there are not too many, or closes it. Event loop of {@code channel}
     * only.
     *
     * @param secure whether the dispatcher holds the TLS state
     * @param opener opener of the event loop
     * @return {@code null} if the connection is closed
     */
    public @Nullable ClientAccount admit(Channel channel, boolean secure, ExchangeOpener opener) {
        if (count()) {
            ClientMemory memory = Objects.requireNonNull(memories.get(channel.eventLoop()), "another's event loop");
            ClientAccount account = memory.open(channel, opener, secure ? TLS_BYTES : PLAIN_BYTES);
            if (account != null) {
                channel.closeFuture().addListener(closed -> connections.decrementAndGet());
                channel.config().setRecvByteBufAllocator(reads.get(channel.eventLoop()));
                return account;
            }
            connections.decrementAndGet();
        }
        observer.onProtection(Protection.CONNECTION_LIMIT);
        AbruptClose.of(channel);
        return null;
    }

    /**
     * Admits a connection that {@link #admit} has admitted if its address has not too many, or
     * closes it. Event loop of {@code channel} only.
     *
     * @param client the client's address, which a load balancer may have named
     */
    public boolean admitAddress(Channel channel, @Nullable SocketAddress client) {
        Long address = addressKey(client);
        if (address == null) {
            return true;
        }
        if (perAddress.merge(address, 1, Integer::sum) <= maxPerAddress) {
            channel.closeFuture().addListener(closed -> countOff(address));
            return true;
        }
        countOff(address);
        observer.onProtection(Protection.ADDRESS_LIMIT);
        AbruptClose.of(channel);
        return false;
    }

    /**
     * Adds a TLS handler whose handshake leaves time for other clients of the event loop. Event
     * loop of {@code channel} only.
     *
     * @param client the client's address, which a load balancer may have named
     */
    public void addTls(Channel channel, SslHandler tls, @Nullable SocketAddress client) {
        HandshakeTurns turns = Objects.requireNonNull(handshakes.get(channel.eventLoop()), "another's event loop");
        channel.pipeline().addLast(turns.gate(tls.handshakeFuture(), client), tls);
    }

    /** Returns how many bytes the clients of {@code loop} can still use. Any thread. */
    public long freeBytes(EventLoop loop) {
        return Objects.requireNonNull(memories.get(loop), "another's event loop")
                .freeBytes();
    }

    /**
     * Counts a connection, unless it exceeds the limit. A snapshot never has more connections than
     * the maximum.
     */
    private boolean count() {
        int max = maxConnections;
        // A change of the limits can leave more connections than the maximum.
        return connections.getAndUpdate(count -> count < max ? count + 1 : count) < max;
    }

    private void countOff(Long address) {
        perAddress.computeIfPresent(address, (same, count) -> count == 1 ? null : count - 1);
    }

    /**
     * Returns a key of the address. For IPv6, it is the first 64 bits, because one host can have
     * all addresses of such a network.
     */
    static @Nullable Long addressKey(@Nullable SocketAddress remote) {
        InetAddress address = remote instanceof InetSocketAddress inet ? inet.getAddress() : null;
        if (address == null) {
            return null;
        }
        ByteBuffer bytes = ByteBuffer.wrap(address.getAddress());
        // No IPv6 address of a client begins with 32 zero bits.
        return address instanceof Inet4Address ? Integer.toUnsignedLong(bytes.getInt()) : bytes.getLong();
    }

    public ClientSnapshot snapshot() {
        long held = 0;
        int level = 0;
        for (ClientMemory memory : memories.values()) {
            held += memory.heldBytes();
            level = Math.max(level, memory.level().ordinal());
        }
        return new ClientSnapshot(connections.get(), held, limitBytes, level);
    }
}
