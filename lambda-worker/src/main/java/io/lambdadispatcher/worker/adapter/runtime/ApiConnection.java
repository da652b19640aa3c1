package io.lambdadispatcher.worker.adapter.runtime;

import io.lambdadispatcher.wire.event.Json;
import io.lambdadispatcher.wire.http.HeaderSyntax;
import io.lambdadispatcher.worker.adapter.runtime.Answer.Failure;
import io.lambdadispatcher.worker.adapter.runtime.Invocation.State;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelFutureListener;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.handler.codec.http.DefaultFullHttpResponse;
import io.netty.handler.codec.http.FullHttpResponse;
import io.netty.handler.codec.http.HttpContent;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaderValues;
import io.netty.handler.codec.http.HttpHeaders;
import io.netty.handler.codec.http.HttpMethod;
import io.netty.handler.codec.http.HttpObject;
import io.netty.handler.codec.http.HttpRequest;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http.HttpUtil;
import io.netty.handler.codec.http.HttpVersion;
import io.netty.handler.codec.http.LastHttpContent;
import io.netty.util.AsciiString;
import io.netty.util.ReferenceCountUtil;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A connection from a child's runtime client, which sends one request after another (<a
 * href="https://docs.aws.amazon.com/lambda/latest/dg/runtimes-api.html">AWS's description of the
 * API</a>). A request may be answered before its body has arrived; the rest of the body is then
 * dropped. Confined to the loop of the API.
 */
final class ApiConnection extends ChannelInboundHandlerAdapter {
    private static final String BASE = "/2018-06-01/runtime/";
    private static final String INVOCATION = BASE + "invocation/";

    private static final AsciiString REQUEST_ID = AsciiString.cached("Lambda-Runtime-Aws-Request-Id");
    private static final AsciiString DEADLINE = AsciiString.cached("Lambda-Runtime-Deadline-Ms");
    private static final AsciiString FUNCTION_ARN = AsciiString.cached("Lambda-Runtime-Invoked-Function-Arn");
    private static final AsciiString TRACE_ID = AsciiString.cached("Lambda-Runtime-Trace-Id");
    private static final AsciiString CLIENT_CONTEXT = AsciiString.cached("Lambda-Runtime-Client-Context");
    private static final AsciiString IDENTITY = AsciiString.cached("Lambda-Runtime-Cognito-Identity");
    private static final AsciiString RESPONSE_MODE = AsciiString.cached("Lambda-Runtime-Function-Response-Mode");
    private static final AsciiString ERROR_TYPE = AsciiString.cached("Lambda-Runtime-Function-Error-Type");
    private static final AsciiString ERROR_BODY = AsciiString.cached("Lambda-Runtime-Function-Error-Body");

    /** Maximum time that an unneeded stream may continue. Most streams end within it. */
    private static final long STOP_MILLIS = 1_000;

    private static final byte[] ACCEPTED = "{\"status\":\"OK\"}\n".getBytes(StandardCharsets.US_ASCII);

    private static final Logger log = LoggerFactory.getLogger(ApiConnection.class);

    private final RuntimeChild child;
    private final int maxBytes;

    private @Nullable ChannelHandlerContext context;
    private boolean answered = true;

    /** If false, requests behind the current one are dropped (RFC 9112 section 9.6). */
    private boolean keepAlive = true;

    private @Nullable Upload upload;

    /** The invocation that the upload is a response to, if it is one. */
    private @Nullable Invocation invocation;

    ApiConnection(RuntimeChild child, int maxBytes) {
        this.child = child;
        this.maxBytes = maxBytes;
    }

    private ChannelHandlerContext context() {
        if (context == null) {
            throw new IllegalStateException("not connected");
        }
        return context;
    }

    boolean isOpen() {
        return context().channel().isActive();
    }

    void close() {
        keepAlive = false;
        context().close();
    }

    @Override
    public void handlerAdded(ChannelHandlerContext ctx) {
        context = ctx;
    }

    @Override
    public void channelInactive(ChannelHandlerContext ctx) {
        Upload broken = upload;
        upload = null;
        try {
            if (broken != null) {
                broken.onBroken();
            }
        } finally {
            child.onClosed(this);
        }
    }

    @Override
    public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
        log.debug("connection {} of a child failed", ctx.channel(), cause);
        close();
    }

    @Override
    public void channelRead(ChannelHandlerContext ctx, Object message) {
        try {
            Throwable malformed = ((HttpObject) message).decoderResult().cause();
            if (malformed != null) {
                onMalformed(malformed);
                return;
            }
            if (message instanceof HttpRequest request) {
                onRequest(request);
            }
            if (message instanceof HttpContent content) {
                onContent(content);
            }
        } finally {
            ReferenceCountUtil.release(message);
        }
    }

    private void onMalformed(Throwable cause) {
        log.debug("{} does not speak HTTP/1.1", context().channel(), cause);
        close();
    }

    private void onRequest(HttpRequest request) {
        if (!answered) {
            log.debug("{} asks before it was answered: {}", context().channel(), HeaderSyntax.printable(request.uri()));
            close();
            return;
        }
        if (!keepAlive) {
            return;
        }
        answered = false;
        upload = null;
        invocation = null;
        // A client that expects "100 Continue" but gets a final response may or may not send the
        // body. The start of its next request is then unknown (RFC 9110 section 10.1.1).
        keepAlive = HttpUtil.isKeepAlive(request) && !HttpUtil.is100ContinueExpected(request);
        route(request, request.uri());
    }

    private void onContent(HttpContent content) {
        Upload to = upload;
        if (to == null) {
            return;
        }
        if (content.content().isReadable()) {
            if (invocation != null) {
                child.onAlive(invocation);
            }
            to.onBytes(content.content().retain());
        }
        if (content instanceof LastHttpContent last) {
            upload = null;
            to.onEnd(last.trailingHeaders());
        }
    }

    // The resources of the API.

    private void route(HttpRequest request, String path) {
        boolean get = request.method().equals(HttpMethod.GET);
        if (get && path.equals(INVOCATION + "next")) {
            child.onPoll(this);
        } else if (get && path.equals(BASE + "restore/next")) {
            // There is nothing to restore here: a snapshot is of the worker with its children.
            send(HttpResponseStatus.OK, Unpooled.EMPTY_BUFFER);
        } else if (!request.method().equals(HttpMethod.POST)) {
            refuse(HttpResponseStatus.NOT_FOUND, "NotFound", request.method() + " " + path);
        } else if (path.equals(BASE + "init/error") || path.equals(BASE + "restore/error")) {
            onInitError(request);
        } else if (path.startsWith(INVOCATION) && path.endsWith("/response")) {
            onAnswer(request, path.substring(INVOCATION.length(), path.length() - "/response".length()), false);
        } else if (path.startsWith(INVOCATION) && path.endsWith("/error")) {
            onAnswer(request, path.substring(INVOCATION.length(), path.length() - "/error".length()), true);
        } else {
            refuse(HttpResponseStatus.NOT_FOUND, "NotFound", path);
        }
    }

    private void onInitError(HttpRequest request) {
        String type = errorType(request.headers());
        gather(request, new WholeUpload.Taker() {
            @Override
            public void onWhole(byte[] details) {
                accept();
                child.onInitError(type, details);
            }

            @Override
            public void onTooLarge() {
                refuseSize();
                child.onInitError(type, new byte[0]);
            }

            @Override
            public void onBroken() {
                child.onInitError(type, new byte[0]);
            }
        });
    }

    private void onAnswer(HttpRequest request, String id, boolean isError) {
        Invocation held = child.find(id);
        if (held == null) {
            refuse(HttpResponseStatus.BAD_REQUEST, "InvalidRequestID", "Invalid request ID");
        } else if (held.state == State.ANSWERING) {
            refuse(HttpResponseStatus.FORBIDDEN, "InvalidStateTransition", id + " is being answered already");
        } else if (!isError && isStream(request.headers())) {
            invocation = held;
            onStream(request, held);
        } else {
            invocation = held;
            held.state = State.ANSWERING;
            gather(request, new WholeAnswer(held, isError ? errorType(request.headers()) : null));
        }
    }

    /**
     * Returns whether the response is streamed. The client for Go shows that only by the content
     * type.
     */
    private static boolean isStream(HttpHeaders headers) {
        return headers.contains(RESPONSE_MODE, "streaming", true)
                || StreamedResponse.hasPrelude(headers.get(HttpHeaderNames.CONTENT_TYPE, ""));
    }

    private static String errorType(HttpHeaders headers) {
        return headers.get(ERROR_TYPE, "Unknown");
    }

    private void gather(HttpRequest request, WholeUpload.Taker taker) {
        long announced = HttpUtil.getContentLength(request, -1L);
        if (announced > maxBytes) {
            taker.onTooLarge();
            return;
        }
        invite(request);
        upload = new WholeUpload((int) announced, maxBytes, child.budget(), taker);
    }

    private void onStream(HttpRequest request, Invocation held) {
        invite(request);
        ChannelHandlerContext from = context();
        Runnable resume =
                () -> from.executor().execute(() -> from.channel().config().setAutoRead(true));
        String contentType = request.headers().get(HttpHeaderNames.CONTENT_TYPE, "");
        StreamedAnswer answer = new StreamedAnswer(held);
        Runnable stop = () -> from.executor().schedule(() -> stop(answer), STOP_MILLIS, TimeUnit.MILLISECONDS);
        upload = answer;
        answer.to = held.beginStream(contentType, resume, stop);
        if (answer.to == null) {
            stop.run();
        }
    }

    /**
     * Tells the child by a broken connection that nobody needs the rest of a stream. The Runtime
     * API has no other way, and a stream of events would keep the child busy for good.
     */
    private void stop(StreamedAnswer answer) {
        if (upload == answer) {
            answer.stopped = true;
            close();
        }
    }

    /**
     * Sends "100 Continue" if the client expects it. curl expects it before a large body, and
     * otherwise waits for a second.
     */
    private void invite(HttpRequest request) {
        if (HttpUtil.is100ContinueExpected(request)) {
            keepAlive = HttpUtil.isKeepAlive(request);
            context()
                    .writeAndFlush(new DefaultFullHttpResponse(
                            HttpVersion.HTTP_1_1, HttpResponseStatus.CONTINUE, Unpooled.EMPTY_BUFFER));
        }
    }

    // Responses to the child.

    ChannelFuture sendInvocation(Invocation invocation) {
        InvokeHead head = invocation.head;
        FullHttpResponse response = new DefaultFullHttpResponse(
                HttpVersion.HTTP_1_1, HttpResponseStatus.OK, Unpooled.wrappedBuffer(invocation.event()));
        HttpHeaders headers = response.headers();
        headers.set(REQUEST_ID, head.id());
        headers.set(DEADLINE, head.deadlineEpochMillis());
        headers.set(FUNCTION_ARN, head.functionArn());
        setIfAny(headers, TRACE_ID, head.traceId());
        setIfAny(headers, CLIENT_CONTEXT, head.clientContext());
        setIfAny(headers, IDENTITY, head.identity());
        return send(response);
    }

    private static void setIfAny(HttpHeaders headers, AsciiString name, @Nullable String value) {
        if (value != null) {
            headers.set(name, value);
        }
    }

    private void accept() {
        send(HttpResponseStatus.ACCEPTED, Unpooled.wrappedBuffer(ACCEPTED));
    }

    private void refuseSize() {
        refuse(
                HttpResponseStatus.REQUEST_ENTITY_TOO_LARGE,
                "RequestEntityTooLarge",
                "Exceeded maximum allowed payload size (" + maxBytes + " bytes).");
    }

    private void refuse(HttpResponseStatus status, String type, String message) {
        send(status, Unpooled.wrappedBuffer(Json.bytes(Map.of("errorMessage", message, "errorType", type))));
    }

    private void send(HttpResponseStatus status, ByteBuf body) {
        send(new DefaultFullHttpResponse(HttpVersion.HTTP_1_1, status, body));
    }

    private ChannelFuture send(FullHttpResponse response) {
        answered = true;
        response.headers()
                .set(HttpHeaderNames.CONTENT_TYPE, HttpHeaderValues.APPLICATION_JSON)
                .setInt(HttpHeaderNames.CONTENT_LENGTH, response.content().readableBytes());
        HttpUtil.setKeepAlive(response, keepAlive);
        ChannelFuture sent = context().writeAndFlush(response);
        if (!keepAlive) {
            sent.addListener(ChannelFutureListener.CLOSE);
        }
        return sent;
    }

    /** A response that is gathered before it is passed on. */
    private final class WholeAnswer implements WholeUpload.Taker {
        private final Invocation invocation;
        private final @Nullable String errorType;

        /** @param errorType {@code null} if the function succeeded */
        WholeAnswer(Invocation invocation, @Nullable String errorType) {
            this.invocation = invocation;
            this.errorType = errorType;
        }

        @Override
        public void onWhole(byte[] bytes) {
            if (errorType == null) {
                invocation.endWhole(bytes);
            } else {
                invocation.endError(errorType, bytes);
            }
            accept();
            child.onAnswered(invocation);
        }

        @Override
        public void onTooLarge() {
            invocation.endFailed(
                    Failure.CHILD_FAILED,
                    "an answer that is too large: more than " + maxBytes
                            + " bytes, or than the worker's memory has room for");
            refuseSize();
            child.onAnswered(invocation);
        }

        @Override
        public void onBroken() {
            if (invocation.state == State.ANSWERING) {
                child.onAnswerBroken(invocation);
            }
        }
    }

    /** A response that is passed on while it arrives. */
    private final class StreamedAnswer implements Upload {
        private final Invocation invocation;

        /** {@code null} if the response is no longer needed. */
        Answer.@Nullable Stream to;

        boolean stopped;

        StreamedAnswer(Invocation invocation) {
            this.invocation = invocation;
        }

        @Override
        public void onBytes(ByteBuf bytes) {
            if (to == null) {
                bytes.release();
            } else if (!to.onBytes(bytes)) {
                context().channel().config().setAutoRead(false);
            }
        }

        @Override
        public void onEnd(HttpHeaders trailers) {
            String failure = trailers.get(ERROR_TYPE);
            try {
                if (to != null && failure == null) {
                    to.onEnd();
                } else if (to != null) {
                    to.onBroken(failure + " " + decoded(trailers.get(ERROR_BODY, "")));
                }
            } finally {
                accept();
                end();
            }
        }

        @Override
        public void onBroken() {
            try {
                if (to != null) {
                    to.onBroken("the child's connection broke in the middle of a streamed answer");
                }
            } finally {
                end();
            }
        }

        /**
         * Ends the invocation, and continues to read: the response may have paused the connection,
         * but its next request must be read. A child whose stream was stopped is still busy.
         */
        private void end() {
            context().channel().config().setAutoRead(true);
            invocation.state = State.ENDED;
            if (!stopped) {
                child.onAnswered(invocation);
            }
        }

        private static String decoded(String base64) {
            try {
                return new String(Base64.getDecoder().decode(base64), StandardCharsets.UTF_8);
            } catch (IllegalArgumentException e) {
                return base64;
            }
        }
    }
}
