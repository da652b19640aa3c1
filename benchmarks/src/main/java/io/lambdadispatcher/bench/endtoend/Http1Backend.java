package io.lambdadispatcher.bench.endtoend;

import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.SimpleChannelInboundHandler;
import io.netty.handler.codec.http.DefaultFullHttpResponse;
import io.netty.handler.codec.http.FullHttpResponse;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpObject;
import io.netty.handler.codec.http.HttpRequest;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http.HttpVersion;

/** Answers HTTP/1.1 requests; request bodies are dropped. On the connection's event loop. */
final class Http1Backend extends SimpleChannelInboundHandler<HttpObject> {
    @Override
    protected void channelRead0(ChannelHandlerContext ctx, HttpObject part) {
        if (part instanceof HttpRequest request) {
            ctx.write(answer(Resource.at(request.uri())));
        }
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
