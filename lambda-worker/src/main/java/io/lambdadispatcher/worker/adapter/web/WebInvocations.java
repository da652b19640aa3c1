package io.lambdadispatcher.worker.adapter.web;

import com.amazonaws.services.lambda.runtime.Context;
import com.amazonaws.services.lambda.runtime.RequestStreamHandler;
import io.lambdadispatcher.wire.event.Json;
import io.lambdadispatcher.wire.http.HeaderText;
import io.lambdadispatcher.wire.http.StatusCode;
import io.lambdadispatcher.worker.handler.FailureReason;
import io.lambdadispatcher.worker.handler.GatheredExchange;
import io.lambdadispatcher.worker.handler.GatheredExchange.Message;
import io.lambdadispatcher.worker.internal.transport.ClientTransport;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import io.netty.channel.EventLoop;
import io.netty.channel.EventLoopGroup;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.util.AsciiString;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;

/**
 * Serves ordinary invocations of a function that is a web application: invocations that do not
 * launch a worker. Each becomes one request to the application, through the same relay as the
 * dispatcher's requests. The requests have their own event loop, which starts with the first
 * invocation. Methods may be called from any thread.
 */
final class WebInvocations implements RequestStreamHandler {
    /** The part of the invocation's remaining time that is reserved for reporting a timeout. */
    private static final int MARGIN_MILLIS = 200;

    /** Maximum size of a response. Lambda accepts slightly more than 6 MB, including base64. */
    private static final int MOST_BODY_BYTES = 6 * 1024 * 1024 + 100 * 1024;

    private static final String SET_COOKIE = "set-cookie";

    private static final List<String> TEXT_TYPES = List.of(
            "application/json",
            "application/xml",
            "application/javascript",
            "application/x-www-form-urlencoded",
            "image/svg+xml");

    private final WebConfig config;
    private final Upstream relay;
    private @Nullable EventLoopGroup loops;

    WebInvocations(WebConfig config, Upstream relay) {
        this.config = config;
        this.relay = relay;
    }

    private synchronized EventLoop loop() {
        if (loops == null) {
            loops = ClientTransport.best().newLoops(1, true);
        }
        return (EventLoop) loops.next();
    }

    synchronized void stop() {
        if (loops != null) {
            loops.shutdownGracefully(0, 1, TimeUnit.SECONDS);
        }
    }

    /**
     * @throws IOException if the application does not respond, or responds with one of {@link
     *     WebConfig.Builder#errorStatusCodes}
     */
    @Override
    public void handleRequest(InputStream input, OutputStream output, Context context) throws IOException {
        WebEvent event = WebEvent.of(input.readAllBytes(), config, context);
        int timeoutMillis = Math.max(1, context.getRemainingTimeInMillis() - MARGIN_MILLIS);
        GatheredExchange exchange = start(event, timeoutMillis, relay);
        output.write(written(event, await(exchange, timeoutMillis)));
    }

    /**
     * Sends one request to the application through {@code to}. The exchange ends when the
     * application responds or the caller cancels it. {@code timeoutMillis} is only passed on with
     * the request; nothing here enforces it.
     */
    GatheredExchange start(WebEvent event, int timeoutMillis, Upstream to) {
        EventLoop loop = loop();
        GatheredExchange exchange = new GatheredExchange(
                loop, new Message(event.head(), event.body()), Duration.ofMillis(timeoutMillis), MOST_BODY_BYTES);
        loop.execute(() -> exchange.call((request, response) -> to.relay(request, response, event.origin())));
        return exchange;
    }

    private static Message await(GatheredExchange exchange, int timeoutMillis) throws IOException {
        try {
            return exchange.answer().get(timeoutMillis, TimeUnit.MILLISECONDS);
        } catch (TimeoutException e) {
            String why = "the app has not answered within " + timeoutMillis + " ms";
            exchange.cancel(FailureReason.TIMEOUT, why);
            throw new IOException(why, e);
        } catch (ExecutionException e) {
            Throwable cause = e.getCause() == null ? e : e.getCause();
            throw new IOException(cause.getMessage(), cause);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            exchange.cancel(FailureReason.CANCELLED, "interrupted");
            throw new IOException("interrupted while the app answers", e);
        }
    }

    private byte[] written(WebEvent event, Message answer) throws IOException {
        int status = StatusCode.parse(answer.head().status());
        if (config.errorStatusCodes.contains(status)) {
            throw new IOException(Json.write(
                    Map.of("statusCode", status, "body", new String(answer.body(), StandardCharsets.UTF_8))));
        }
        if (event.kind() == WebEvent.Kind.PASS_THROUGH) {
            return passedThrough(answer.body());
        }
        boolean text = isText(answer);
        Map<String, Object> result = new LinkedHashMap<>();
        result.put("statusCode", status);
        result.put("statusDescription", HttpResponseStatus.valueOf(status).toString());
        addFields(event.kind(), answer, result);
        result.put(
                "body",
                text
                        ? new String(answer.body(), StandardCharsets.UTF_8)
                        : Base64.getEncoder().encodeToString(answer.body()));
        result.put("isBase64Encoded", !text);
        return Json.bytes(result);
    }

    private static byte[] passedThrough(byte[] body) {
        if (body.length == 0) {
            return "null".getBytes(StandardCharsets.US_ASCII);
        }
        return Json.isJson(body) ? body : Json.bytes(new String(body, StandardCharsets.UTF_8));
    }

    private static void addFields(WebEvent.Kind kind, Message answer, Map<String, Object> result) {
        Map<String, List<String>> all = new LinkedHashMap<>();
        answer.head().forEach(field -> {
            String name = field.getKey().toString();
            if (!name.startsWith(":")) {
                all.computeIfAbsent(name, absent -> new ArrayList<>(1)).add(HeaderText.decode(field.getValue()));
            }
        });
        if (kind == WebEvent.Kind.MULTI_VALUES) {
            result.put("multiValueHeaders", all);
            return;
        }
        List<String> cookies = all.remove(SET_COOKIE);
        Map<String, String> joined = new LinkedHashMap<>();
        all.forEach((name, values) -> joined.put(name, String.join(",", values)));
        if (cookies != null && kind == WebEvent.Kind.JOINED_VALUES) {
            result.put("cookies", cookies);
        } else if (cookies != null) {
            for (int i = 0; i < cookies.size(); i++) {
                joined.put(spelling(SET_COOKIE, i), cookies.get(i));
            }
        }
        result.put("headers", joined);
    }

    /**
     * Returns the name in its {@code number}th spelling. The values of {@code set-cookie} are the
     * only ones that must not be joined (RFC 9110 section 5.3), and an object of JSON has one value
     * for each spelling. Names differ in case only, so a client sees one name.
     */
    private static String spelling(String name, int number) {
        char[] letters = name.toCharArray();
        int rest = number;
        for (int i = 0; i < letters.length; i++) {
            if (letters[i] != '-') {
                letters[i] = (rest & 1) == 0 ? letters[i] : Character.toUpperCase(letters[i]);
                rest >>= 1;
            }
        }
        return new String(letters);
    }

    /**
     * Returns whether the body can be passed as text: the bytes must be UTF-8, whatever the content
     * type says.
     */
    private static boolean isText(Message answer) {
        CharSequence type = answer.head().get(HttpHeaderNames.CONTENT_TYPE);
        return !answer.head().contains(HttpHeaderNames.CONTENT_ENCODING)
                && (answer.body().length == 0 || type == null || isTextType(type.toString()))
                && ByteBufUtil.isText(Unpooled.wrappedBuffer(answer.body()), StandardCharsets.UTF_8);
    }

    private static boolean isTextType(String field) {
        int semicolon = field.indexOf(';');
        String type = AsciiString.of(semicolon < 0 ? field : field.substring(0, semicolon))
                .trim()
                .toLowerCase()
                .toString();
        return type.startsWith("text/") || TEXT_TYPES.contains(type) || type.endsWith("+json") || type.endsWith("+xml");
    }
}
