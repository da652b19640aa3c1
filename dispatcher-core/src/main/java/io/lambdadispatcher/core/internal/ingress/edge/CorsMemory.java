package io.lambdadispatcher.core.internal.ingress.edge;

import io.lambdadispatcher.wire.http.Methods;
import io.lambdadispatcher.wire.http.StatusCode;
import io.lambdadispatcher.wire.http.TextAnswer;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.util.AsciiString;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * Which origins the functions allow to read their responses, as their last responses to each origin
 * say. The dispatcher's own answers say the same, because a browser shows a page nothing else of
 * them (Fetch Standard, section 3.3, "CORS protocol"). Any thread.
 */
public final class CorsMemory {
    /** Maximum for each function. Some allow every origin, and clients choose what they send. */
    private static final int MAX_ORIGINS = 1024;

    private static final int MAX_CHARS = 512;
    private static final AsciiString ANY = AsciiString.cached("*");

    /** The key of what any function allows, for requests that no function gets. */
    private static final String ALL_FUNCTIONS = "";

    private record Allowed(
            CharSequence origin,
            @Nullable CharSequence credentials,
            @Nullable CharSequence exposed) {
        static @Nullable Allowed of(Http2Headers response) {
            CharSequence origin = response.get(HttpHeaderNames.ACCESS_CONTROL_ALLOW_ORIGIN);
            return origin == null || origin.length() > MAX_CHARS
                    ? null
                    : new Allowed(
                            origin.toString(),
                            text(response.get(HttpHeaderNames.ACCESS_CONTROL_ALLOW_CREDENTIALS)),
                            text(response.get(HttpHeaderNames.ACCESS_CONTROL_EXPOSE_HEADERS)));
        }

        private static @Nullable String text(@Nullable CharSequence value) {
            return value == null || value.length() > MAX_CHARS ? null : value.toString();
        }
    }

    private final Map<String, Map<String, Allowed>> functions = new ConcurrentHashMap<>();

    /** Whether a response had headers of CORS. Without, nothing here costs anything. */
    private volatile boolean used;

    /**
     * Notes what a final response of a function allows. If a worker or a filter has made it instead
     * of the function, it gets the headers of the last one.
     *
     * @param request its request; {@code null} = unknown
     */
    void onResponse(String function, @Nullable Http2Headers request, Http2Headers response) {
        boolean allows = response.contains(HttpHeaderNames.ACCESS_CONTROL_ALLOW_ORIGIN);
        CharSequence from = allows || used ? origin(request) : null;
        if (request == null || from == null) {
            return;
        }
        String origin = from.toString();
        if (!allows && response.contains(TextAnswer.MARK)) {
            allow(response, request, function);
            return;
        }
        if (!allows) {
            int status = StatusCode.parse(response.status());
            Map<String, Allowed> its = functions.get(function);
            // Applications often forget the headers in their errors.
            if (its != null && StatusCode.isSuccess(status)) {
                its.remove(origin);
            }
            return;
        }
        Allowed allowed = Allowed.of(response);
        if (allowed != null) {
            used = true;
            // What a script may read is not said in the response to a preflight request.
            boolean preflight = Methods.isPreflight(request);
            note(function, origin, allowed, preflight);
            note(ALL_FUNCTIONS, origin, allowed, preflight);
        }
    }

    private void note(String function, String origin, Allowed allowed, boolean preflight) {
        Map<String, Allowed> its = functions.computeIfAbsent(function, name -> new ConcurrentHashMap<>());
        Allowed before = its.get(origin);
        if (before != null && (preflight || Objects.equals(before, allowed))) {
            return;
        }
        if (before == null && its.size() >= MAX_ORIGINS) {
            its.keySet().stream().findAny().ifPresent(its::remove);
        }
        its.put(origin, allowed);
    }

    /**
     * Adds headers to an answer of the dispatcher.
     *
     * @param request {@code null} = its headers could not be read, so its origin is unknown. The
     *     answer says nothing about the function, so every origin may read it
     * @param function the function that the request was for; {@code null} = none
     */
    void allow(Http2Headers answer, @Nullable Http2Headers request, @Nullable String function) {
        if (!used) {
            return;
        }
        if (request == null) {
            answer.set(HttpHeaderNames.ACCESS_CONTROL_ALLOW_ORIGIN, ANY);
            return;
        }
        Map<String, Allowed> its = functions.get(function == null ? ALL_FUNCTIONS : function);
        CharSequence origin = its == null ? null : origin(request);
        Allowed allowed = its == null || origin == null ? null : its.get(origin.toString());
        if (allowed != null) {
            answer.set(HttpHeaderNames.ACCESS_CONTROL_ALLOW_ORIGIN, allowed.origin());
            answer.set(HttpHeaderNames.VARY, HttpHeaderNames.ORIGIN);
            if (allowed.credentials() != null) {
                answer.set(HttpHeaderNames.ACCESS_CONTROL_ALLOW_CREDENTIALS, allowed.credentials());
            }
            if (allowed.exposed() != null) {
                answer.set(HttpHeaderNames.ACCESS_CONTROL_EXPOSE_HEADERS, allowed.exposed());
            }
        }
    }

    private static @Nullable CharSequence origin(@Nullable Http2Headers request) {
        CharSequence origin = request == null ? null : request.get(HttpHeaderNames.ORIGIN);
        return origin == null || origin.length() > MAX_CHARS ? null : origin;
    }
}
