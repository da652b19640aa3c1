package io.lambdadispatcher.worker.adapter.web;

import io.lambdadispatcher.worker.handler.Request;
import io.lambdadispatcher.worker.handler.Response;
import io.lambdadispatcher.worker.internal.transport.ClientTransport;
import io.lambdadispatcher.worker.internal.transport.FreezeClocks;
import io.netty.bootstrap.Bootstrap;
import io.netty.channel.Channel;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.EventLoop;
import java.io.IOException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;

/**
 * Keeps the HTTP/2 connections of one event loop to the application. It opens another connection
 * only if the application allows fewer streams than there are requests. Requests wait while a
 * connection opens. WebSockets use HTTP/1.1 if the application does not support RFC 8441. Confined
 * to an event loop.
 */
final class H2cUpstream implements Upstream {
    final WebConfig config;
    final FreezeClocks clocks;
    private final EventLoop loop;
    private final Bootstrap bootstrap;
    private final Http1Upstream http1;
    private final List<H2cConnection> connections = new ArrayList<>(2);
    private final ArrayDeque<H2cExchange> waiting = new ArrayDeque<>();
    private boolean connecting;

    H2cUpstream(EventLoop loop, WebConfig config, FreezeClocks clocks) {
        this.loop = loop;
        this.config = config;
        this.clocks = clocks;
        this.bootstrap =
                Http1Upstream.bootstrap(loop).channel(ClientTransport.of(loop).channelType());
        this.http1 = new Http1Upstream(loop, config, clocks);
    }

    @Override
    public void relay(Request request, Response response, Origin origin) {
        new H2cExchange(this, request, response, origin).start();
    }

    /** Returns the way for WebSockets that the application does not accept over HTTP/2. */
    Upstream http1() {
        return http1;
    }

    /** Calls {@code exchange} back, possibly before it returns. */
    void acquire(H2cExchange exchange) {
        for (int i = connections.size() - 1; i >= 0; i--) {
            H2cConnection connection = connections.get(i);
            if (connection.isStale(config.idleLimit.toNanos())) {
                connection.close();
            } else if (connection.hasRoom()) {
                exchange.onConnected(connection);
                return;
            }
        }
        connect(exchange);
    }

    /** Serves the exchange on a new connection. */
    void connect(H2cExchange exchange) {
        waiting.add(exchange);
        if (!connecting) {
            connecting = true;
            open();
        }
    }

    private void open() {
        H2cConnection connection = new H2cConnection(this);
        bootstrap
                .clone()
                .handler(new ChannelInitializer<Channel>() {
                    @Override
                    protected void initChannel(Channel channel) {
                        channel.pipeline().addLast(connection.http2());
                    }
                })
                .connect(config.address)
                .addListener(connected -> {
                    if (!connected.isSuccess()) {
                        onLoop(() -> onNotReady(connected.cause()));
                    }
                });
    }

    /** Without descriptors there is no channel, and its listeners run on a thread of Netty. */
    private void onLoop(Runnable task) {
        if (loop.inEventLoop()) {
            task.run();
        } else {
            loop.execute(task);
        }
    }

    /**
     * Uses a connection whose SETTINGS have arrived. If they allow no stream at all, waiting
     * requests fail, because another connection would get the same SETTINGS.
     */
    void onReady(H2cConnection connection) {
        if (!connection.hasRoom()) {
            connection.close();
            onNotReady(new IOException("the app allows " + connection.mostStreams()
                    + " streams on a new connection, expected at least 1"));
            return;
        }
        connecting = false;
        connections.add(connection);
        int all = waiting.size();
        for (int i = 0; i < all; i++) {
            H2cExchange next = waiting.remove();
            if (!next.isWaiting()) {
                continue;
            }
            if (connection.hasRoom()) {
                next.onConnected(connection);
            } else {
                connect(next);
            }
        }
    }

    void onNotReady(Throwable cause) {
        connecting = false;
        int all = waiting.size();
        for (int i = 0; i < all; i++) {
            waiting.remove().onUnreachable(cause);
        }
    }

    void onClosed(H2cConnection connection) {
        connections.remove(connection);
    }
}
