package io.lambdadispatcher.core.internal.worker;

import io.lambdadispatcher.core.internal.loop.Incidents;
import io.lambdadispatcher.core.internal.loop.SeldomLog;
import io.lambdadispatcher.core.internal.pool.FunctionPool;
import io.lambdadispatcher.core.internal.pool.PoolShard;
import io.lambdadispatcher.core.internal.worker.WorkerEvents.Rejection;
import io.lambdadispatcher.core.observe.DispatcherObserver;
import io.lambdadispatcher.core.observe.Incident;
import io.lambdadispatcher.wire.http.FlatHeadersDecoder;
import io.lambdadispatcher.wire.http.PrintableText;
import io.lambdadispatcher.wire.http2.Http2Assembly;
import io.lambdadispatcher.wire.worker.WireLimits;
import io.netty.channel.Channel;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.EventLoop;
import io.netty.handler.codec.DecoderException;
import io.netty.handler.codec.http2.Http2Settings;
import io.netty.handler.ssl.NotSslRecordException;
import io.netty.util.concurrent.Ticker;
import java.net.SocketAddress;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.regex.Pattern;
import javax.net.ssl.SSLException;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Sets up each connection of a worker, and holds what these connections share. All event loops use
 * it.
 */
public final class WorkerPort extends ChannelInitializer<Channel> {
    /** Maximum number of bytes of one response body that wait in the dispatcher. */
    static final int STREAM_WINDOW_BYTES = 256 * 1024;

    /**
     * DATA is passed on as it arrives, so a large frame takes no memory, and the worker sends fewer
     * frame headers.
     */
    private static final int MAX_FRAME_BYTES = 256 * 1024;

    private static final long MAX_CONTROL_HEAD_BYTES = 8 * 1024;
    private static final Logger log = LoggerFactory.getLogger(WorkerPort.class);

    private static final String NO_TLS = "it does not use TLS, but this port does. At the worker, remove"
            + " LAMBDA_DISPATCHER_TLS=false, or set workers.tls.certificate: off here";
    private static final String UNEXPECTED_TLS = "it uses TLS, but this port does not. Set LAMBDA_DISPATCHER_TLS=false"
            + " at the worker, or remove workers.tls.certificate: off here";
    private static final String HTTP_1 =
            "it speaks HTTP/1.1. Clients must use a public port, and health checks the admin port";

    /** How Netty shows the first bytes of TLS: a handshake record, whichever its version. */
    private static final Pattern TLS_HELLO = Pattern.compile("received bytes: 1603");

    /**
     * Authentication of workers, and the timeouts of their connections.
     *
     * @param keysOf returns the keys of the function with this name, one of which signs its launch
     *     tokens
     * @param hint what to add in the log to the reason for which a token is rejected; may be empty
     * @param tls none for h2c with prior knowledge
     * @param handshakeTimeout maximum time from the connection's start to HELLO
     * @param zone availability zone of this dispatcher; empty = not known
     */
    public record Access(
            Function<String, List<byte[]>> keysOf,
            String hint,
            PortIdentities tls,
            Duration pingInterval,
            Duration pingTimeout,
            Duration handshakeTimeout,
            String zone) {}

    private volatile Access access;
    final WorkerEvents events;
    final DispatcherObserver observer;
    private final Map<String, FunctionPool> pools;
    private final Map<EventLoop, Integer> loopIndexes;
    private final Incidents incidents;

    /** Log of what admitted workers do wrong. */
    final SeldomLog violations = new SeldomLog(log, Ticker.systemTicker());

    /**
     * @param pools pools by name of the function
     * @param loopIndexes index of each event loop's shard in a pool
     */
    public WorkerPort(
            Access access,
            Map<String, FunctionPool> pools,
            Map<EventLoop, Integer> loopIndexes,
            WorkerEvents events,
            DispatcherObserver observer,
            Incidents incidents) {
        this.access = access;
        this.pools = pools;
        this.loopIndexes = loopIndexes;
        this.events = events;
        this.observer = observer;
        this.incidents = incidents;
    }

    /** Replaces the secrets, the certificate and the timeouts of new connections. */
    public void setAccess(Access value) {
        access = value;
    }

    public Access access() {
        return access;
    }

    @Override
    protected void initChannel(Channel channel) {
        WorkerPortHandler handler = Http2Assembly.server(
                new FlatHeadersDecoder(MAX_CONTROL_HEAD_BYTES, 0),
                Http2Settings.defaultSettings()
                        .initialWindowSize(STREAM_WINDOW_BYTES)
                        .maxFrameSize(MAX_FRAME_BYTES)
                        .maxConcurrentStreams(WireLimits.MAX_STREAMS_PER_CONNECTION + 1L)
                        .maxHeaderListSize(MAX_CONTROL_HEAD_BYTES),
                parts -> new WorkerPortHandler(parts, this));
        Access current = access;
        current.tls()
                .addHandlers(
                        channel.pipeline(),
                        current.handshakeTimeout(),
                        handler,
                        cause -> onFailed(channel.remoteAddress(), cause));
    }

    /** @return {@code null} if there is no such function */
    @Nullable
    PoolShard shard(String function, EventLoop loop) {
        Integer index = loopIndexes.get(loop);
        if (index == null) {
            throw new IllegalStateException("connection on a foreign event loop " + loop);
        }
        FunctionPool pool = pools.get(function);
        return pool == null ? null : pool.shard(index);
    }

    /** Reports a peer that does not speak TLS, or that does not accept the key of this port. */
    void onFailed(SocketAddress remote, Throwable cause) {
        Throwable reason = cause instanceof DecoderException && cause.getCause() != null ? cause.getCause() : cause;
        if (reason instanceof NotSslRecordException) {
            onRejected(remote, Rejection.TLS, NO_TLS);
        } else if (reason instanceof SSLException) {
            onRejected(
                    remote,
                    Rejection.TLS,
                    "TLS has failed: " + PrintableText.startOf(String.valueOf(reason.getMessage())));
        } else {
            log.debug("worker connection {}: {}", remote, PrintableText.startOf(cause));
        }
    }

    /** Reports a peer whose first bytes are not those of HTTP/2 without TLS. */
    void onNoPreface(SocketAddress remote, String message) {
        if (message.startsWith("Unexpected HTTP/1.x")) {
            onRejected(remote, Rejection.STRANGER, HTTP_1);
        } else if (!access.tls().hasTls() && TLS_HELLO.matcher(message).find()) {
            onRejected(remote, Rejection.TLS, UNEXPECTED_TLS);
        } else {
            onRejected(remote, Rejection.STRANGER, "it does not speak HTTP/2. Only workers may use this port");
        }
    }

    /**
     * Reports each rejection to the observer. To the log, it is an incident, because a peer can
     * cause any number of them.
     */
    void onRejected(SocketAddress remote, Rejection rejection, String reason) {
        observer.onWorkerRejected(remote, reason);
        incidents.count(
                Incident.Kind.WORKERS_REJECTED, "", rejection.token(), () -> "a worker at " + remote + ": " + reason);
    }
}
