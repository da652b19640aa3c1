package io.lambdadispatcher.bench.workload;

import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.SimpleChannelInboundHandler;
import io.netty.channel.nio.NioIoHandler;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import io.netty.handler.codec.http.DefaultFullHttpResponse;
import io.netty.handler.codec.http.FullHttpRequest;
import io.netty.handler.codec.http.FullHttpResponse;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaderValues;
import io.netty.handler.codec.http.HttpMethod;
import io.netty.handler.codec.http.HttpObjectAggregator;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http.HttpServerCodec;
import io.netty.handler.codec.http.HttpServerKeepAliveHandler;
import io.netty.handler.codec.http.HttpVersion;
import io.netty.handler.ssl.SslContext;
import io.netty.handler.ssl.SslContextBuilder;
import java.io.File;
import java.net.InetSocketAddress;
import java.util.concurrent.TimeUnit;
import javax.net.ssl.SSLException;

/**
 * A simulated DynamoDB that accepts the items of handlers and stores nothing. It supports only the
 * part of the API that puts need. It simulates the service time, and the network delay of another
 * machine. It serves HTTPS on 127.0.0.1, on one event loop. After a request below {@code /closed},
 * it closes the connection.
 *
 * <p>Arguments: port, PEM files of certificate and key, median of the service time and the round
 * trip, both in milliseconds. Runs until it is killed. Exit code 2 means wrong arguments.
 */
public final class DatabaseMain {
    private static final int LARGEST_ITEM_BYTES = 400 * 1024;
    private static final double SERVICE_SIGMA = 0.25;
    private static final String TARGET = "x-amz-target";
    private static final String PUT_ITEM = "DynamoDB_20120810.PutItem";
    private static final byte[] NO_ATTRIBUTES = {'{', '}'};

    private DatabaseMain() {}

    public static void main(String[] args) throws Exception {
        try {
            if (args.length != 5) {
                throw new IllegalArgumentException(args.length + " arguments, expected port, certificate, key, "
                        + "milliseconds of service, milliseconds of a round trip");
            }
            Wait service = new Wait(Double.parseDouble(args[3]), SERVICE_SIGMA);
            long roundTripNanos = new Wait(Double.parseDouble(args[4]), 0).nextNanos();
            start(Integer.parseInt(args[0]), new File(args[1]), new File(args[2]), service, roundTripNanos)
                    .closeFuture()
                    .sync();
        } catch (IllegalArgumentException e) {
            System.err.println("database: " + e.getMessage());
            System.exit(2);
        }
    }

    /** @return the bound listener; closing it also ends its event loop */
    static Channel start(int port, File certificate, File key, Wait service, long roundTripNanos)
            throws InterruptedException, SSLException {
        SslContext tls = SslContextBuilder.forServer(certificate, key).build();
        EventLoopGroup loop = new MultiThreadIoEventLoopGroup(1, NioIoHandler.newFactory());
        Channel listener = new ServerBootstrap()
                .group(loop)
                .channel(NioServerSocketChannel.class)
                .childHandler(new ChannelInitializer<>() {
                    @Override
                    protected void initChannel(Channel channel) {
                        channel.pipeline()
                                .addLast(new RoundTrip(roundTripNanos), tls.newHandler(channel.alloc()))
                                .addLast(new HttpServerCodec(), new HttpServerKeepAliveHandler())
                                .addLast(new HttpObjectAggregator(LARGEST_ITEM_BYTES), new Table(service));
                    }
                })
                .bind(new InetSocketAddress("127.0.0.1", port))
                .sync()
                .channel();
        listener.closeFuture().addListener(closed -> loop.shutdownGracefully());
        return listener;
    }

    private static final class Table extends SimpleChannelInboundHandler<FullHttpRequest> {
        private final Wait service;

        Table(Wait service) {
            this.service = service;
        }

        @Override
        protected void channelRead0(ChannelHandlerContext ctx, FullHttpRequest request) {
            FullHttpResponse answer = answer(request);
            ctx.executor().schedule(() -> ctx.writeAndFlush(answer), service.nextNanos(), TimeUnit.NANOSECONDS);
        }

        private static FullHttpResponse answer(FullHttpRequest request) {
            boolean put = request.method().equals(HttpMethod.POST)
                    && PUT_ITEM.equals(request.headers().get(TARGET));
            FullHttpResponse answer = new DefaultFullHttpResponse(
                    HttpVersion.HTTP_1_1,
                    put ? HttpResponseStatus.OK : HttpResponseStatus.BAD_REQUEST,
                    Unpooled.wrappedBuffer(NO_ATTRIBUTES));
            answer.headers()
                    .set(HttpHeaderNames.CONTENT_TYPE, "application/x-amz-json-1.0")
                    .set(HttpHeaderNames.CONTENT_LENGTH, NO_ATTRIBUTES.length);
            if (request.uri().startsWith(Database.CLOSED)) {
                answer.headers().set(HttpHeaderNames.CONNECTION, HttpHeaderValues.CLOSE);
            }
            return answer;
        }

        @Override
        public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
            ctx.close();
        }
    }
}
