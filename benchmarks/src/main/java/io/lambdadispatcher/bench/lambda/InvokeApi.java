package io.lambdadispatcher.bench.lambda;

import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelHandler.Sharable;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.SimpleChannelInboundHandler;
import io.netty.handler.codec.http.DefaultFullHttpResponse;
import io.netty.handler.codec.http.FullHttpRequest;
import io.netty.handler.codec.http.FullHttpResponse;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpMethod;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http.HttpVersion;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Serves Lambda's Invoke operation over HTTP/1.1: synchronous invocations and dry runs. {@code GET
 * /counts} returns the counters of all functions. Signatures are not checked. Runs on the
 * connection's event loop; results arrive on the threads of environments.
 */
@Sharable
final class InvokeApi extends SimpleChannelInboundHandler<FullHttpRequest> {
    private static final Pattern INVOKE = Pattern.compile("/2015-03-31/functions/([^/]+)/invocations(\\?.*)?");

    private final Map<String, LambdaFunction> functions;

    /** @param functions by name, without a qualifier */
    InvokeApi(Map<String, LambdaFunction> functions) {
        this.functions = Map.copyOf(functions);
    }

    @Override
    protected void channelRead0(ChannelHandlerContext ctx, FullHttpRequest request) {
        result(request).thenAccept(result -> ctx.writeAndFlush(response(result)));
    }

    private CompletableFuture<InvokeResult> result(FullHttpRequest request) {
        Matcher path = INVOKE.matcher(request.uri());
        if (request.uri().equals("/counts")) {
            return CompletableFuture.completedFuture(InvokeResult.returned(counts()));
        }
        if (!path.matches() || !request.method().equals(HttpMethod.POST)) {
            return CompletableFuture.completedFuture(
                    InvokeResult.noSuchOperation(request.method() + " " + request.uri()));
        }
        String name = URLDecoder.decode(path.group(1), StandardCharsets.UTF_8);
        LambdaFunction function = functions.get(name);
        if (function == null) {
            return CompletableFuture.completedFuture(InvokeResult.noSuchFunction(name));
        }
        return "DryRun".equals(request.headers().get("x-amz-invocation-type"))
                ? CompletableFuture.completedFuture(InvokeResult.mayBeInvoked())
                : function.invoke(ByteBufUtil.getBytes(request.content()));
    }

    private static FullHttpResponse response(InvokeResult result) {
        FullHttpResponse response = new DefaultFullHttpResponse(
                HttpVersion.HTTP_1_1,
                HttpResponseStatus.valueOf(result.status()),
                Unpooled.wrappedBuffer(result.payload()));
        response.headers()
                .set(HttpHeaderNames.CONTENT_TYPE, "application/json")
                .set("x-amz-executed-version", "$LATEST");
        if (result.status() != HttpResponseStatus.NO_CONTENT.code()) {
            response.headers().set(HttpHeaderNames.CONTENT_LENGTH, result.payload().length);
        }
        if (!result.errorType().isEmpty()) {
            response.headers().set("x-amzn-errortype", result.errorType());
        }
        if (!result.functionError().isEmpty()) {
            response.headers().set("x-amz-function-error", result.functionError());
        }
        return response;
    }

    private byte[] counts() {
        StringBuilder json = new StringBuilder();
        new TreeMap<>(functions).forEach((name, function) -> {
            LambdaFunction.Count count = function.count();
            json.append(json.isEmpty() ? "{" : ",")
                    .append(
                            "\"%s\":{\"environments\":%d,\"invocations\":%d,\"coldStarts\":%d,\"throttled\":%d,\"timedOut\":%d}"
                                    .formatted(
                                            name,
                                            count.environments(),
                                            count.invocations(),
                                            count.coldStarts(),
                                            count.throttled(),
                                            count.timedOut()));
        });
        return json.append("}").toString().getBytes(StandardCharsets.UTF_8);
    }

    @Override
    public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
        ctx.close();
    }
}
