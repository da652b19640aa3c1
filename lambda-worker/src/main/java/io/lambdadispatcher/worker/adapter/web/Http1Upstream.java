package io.lambdadispatcher.worker.adapter.web;

import io.lambdadispatcher.worker.handler.Request;
import io.lambdadispatcher.worker.handler.Response;
import io.lambdadispatcher.worker.internal.transport.FreezeClocks;
import io.netty.bootstrap.Bootstrap;
import io.netty.channel.Channel;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoop;
import io.netty.channel.WriteBufferWaterMark;
import java.util.ArrayDeque;

/**
 * Keeps the HTTP/1.1 connections of one event loop to the application. It uses the newest idle
 * connection first, and opens another if none is idle. The number of connections needs no limit,
 * because the worker's streams limit the requests in flight. Confined to an event loop.
 */
final class Http1Upstream implements Upstream {
    static final int CONNECT_TIMEOUT_MILLIS = 5_000;

    private static final WriteBufferWaterMark WATER_MARK = new WriteBufferWaterMark(64 * 1024, 256 * 1024);

    final WebConfig config;
    private final EventLoop loop;
    private final Bootstrap bootstrap;
    final FreezeClocks clocks;
    private final IdleRule rule;
    private final ArrayDeque<Http1Connection> idle = new ArrayDeque<>();

    Http1Upstream(EventLoop loop, WebConfig config, FreezeClocks clocks) {
        this.loop = loop;
        this.config = config;
        this.clocks = clocks;
        this.rule = new IdleRule(config.idleLimit.toNanos());
        this.bootstrap = bootstrap(loop);
    }

    static Bootstrap bootstrap(EventLoop loop) {
        return new Bootstrap()
                .group(loop)
                .option(ChannelOption.TCP_NODELAY, true)
                .option(ChannelOption.CONNECT_TIMEOUT_MILLIS, CONNECT_TIMEOUT_MILLIS)
                .option(ChannelOption.WRITE_BUFFER_WATER_MARK, WATER_MARK)
                // An application that rejects a body responds and closes. Its response must still
                // be read.
                .option(ChannelOption.AUTO_CLOSE, false);
    }

    @Override
    public void relay(Request request, Response response, Origin origin) {
        new Http1Exchange(this, request, response, origin).start();
    }

    /** Calls {@code exchange} back, possibly before it returns. */
    void acquire(Http1Exchange exchange) {
        Http1Connection connection;
        while ((connection = idle.peekFirst()) != null) {
            long idleNanos = connection.idleNanos();
            if (!rule.isYoung(idleNanos) || !connection.isOpen()) {
                retire(idle.removeFirst());
            } else if (exchange.isReplayable() || rule.isSafe(idleNanos, connection.announcedNanos())) {
                idle.removeFirst();
                if (connection.isQuiet()) {
                    exchange.onConnected(connection);
                    return;
                }
                retire(connection);
            } else {
                break;
            }
        }
        connect(exchange);
    }

    void connect(Http1Exchange exchange) {
        AppSocket socket;
        try {
            socket = AppSocket.create(loop);
        } catch (RuntimeException e) {
            // There is no free file descriptor, for example.
            exchange.onUnreachable(e);
            return;
        }
        Http1Connection connection = new Http1Connection(this, socket);
        bootstrap
                .clone()
                .channelFactory(socket::channel)
                .handler(new ChannelInitializer<Channel>() {
                    @Override
                    protected void initChannel(Channel channel) {
                        channel.pipeline().addLast(connection.decoder(), connection);
                    }
                })
                .connect(config.address)
                .addListener(connected -> {
                    if (connected.isSuccess()) {
                        exchange.onConnected(connection);
                    } else {
                        exchange.onUnreachable(connected.cause());
                    }
                });
    }

    void onIdle(Http1Connection connection) {
        idle.addFirst(connection);
        Http1Connection oldest = idle.getLast();
        if (!rule.isYoung(oldest.idleNanos())) {
            retire(idle.removeLast());
        }
    }

    /**
     * Closes a connection that is too old for reuse, or that the application has closed. The event
     * of that close may not have arrived yet.
     */
    private void retire(Http1Connection old) {
        if (old.isOpen() && old.isQuiet()) {
            rule.onKept(old.idleNanos());
        } else {
            rule.onClosedIdle(old.idleNanos());
        }
        old.close();
    }

    void onServed(long idleNanos) {
        rule.onServed(idleNanos);
    }

    void onClosed(Http1Connection connection) {
        if (idle.remove(connection)) {
            rule.onClosedIdle(connection.idleNanos());
        }
    }
}
