package io.lambdadispatcher.bench.endtoend;

import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.SimpleChannelInboundHandler;
import io.netty.handler.codec.http.DefaultFullHttpResponse;
import io.netty.handler.codec.http.DefaultHttpResponse;
import io.netty.handler.codec.http.FullHttpResponse;
import io.netty.handler.codec.http.HttpContent;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpObject;
import io.netty.handler.codec.http.HttpRequest;
import io.netty.handler.codec.http.HttpResponse;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http.HttpUtil;
import io.netty.handler.codec.http.HttpVersion;

/**
 * Answers HTTP/1.1 requests. {@code /echo} sends request bodies back; other paths drop them.
 * Confined to the connection's event loop.
 */
final class Http1Backend extends SimpleChannelInboundHandler<HttpObject> {
    private boolean echoing;

    @Override
    protected void channelRead0(ChannelHandlerContext ctx, HttpObject part) {
        if (part instanceof HttpRequest request) {
            echoing = Resource.isEcho(request.uri());
            ctx.write(echoing ? echo(request) : answer(Resource.at(request.uri())));
        }
        if (echoing && part instanceof HttpContent bytes) {
            ctx.write(bytes.retain());
        }
    }

    private static HttpResponse echo(HttpRequest request) {
        HttpResponse head = new DefaultHttpResponse(HttpVersion.HTTP_1_1, HttpResponseStatus.OK);
        String length = request.headers().get(HttpHeaderNames.CONTENT_LENGTH);
        if (length != null) {
            head.headers().set(HttpHeaderNames.CONTENT_LENGTH, length);
        } else if (HttpUtil.isTransferEncodingChunked(request)) {
            HttpUtil.setTransferEncodingChunked(head, true);
        } else {
            HttpUtil.setContentLength(head, 0);
        }
        return head;
    }

    /** Stops reading while the client does not read. */
    @Override
    public void channelWritabilityChanged(ChannelHandlerContext ctx) {
        ctx.channel().config().setAutoRead(ctx.channel().isWritable());
    }

    private static FullHttpResponse answer(Resource resource) {
        FullHttpResponse answer = new DefaultFullHttpResponse(
                HttpVersion.HTTP_1_1, HttpResponseStatus.valueOf(resource.status), resource.body());
        answer.headers().set(HttpHeaderNames.CONTENT_TYPE, resource.mediaType);
        answer.headers().set(HttpHeaderNames.CONTENT_LENGTH, resource.length);
        return answer;
    }

    @Override
    public void channelReadComplete(ChannelHandlerContext ctx) {
        ctx.flush();
    }

    @Override
    public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
        ctx.close();
    }
}
