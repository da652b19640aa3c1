package io.lambdadispatcher.core.spi;

import io.lambdadispatcher.wire.event.Json;
import io.lambdadispatcher.wire.http.HeaderSyntax;
import io.netty.handler.codec.http.HttpResponseStatus;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Makes the bodies of the error responses that the dispatcher itself sends to HTTP clients, for
 * example when the queue is full. Responses of workers are never changed.
 *
 * <p><b>Threading.</b> Called on event loops, so it must not block. If it throws, the client gets
 * the default text.
 */
@FunctionalInterface
public interface ErrorRenderer {
    ErrorPage render(ErrorContext error);

    /**
     * Describes an error to the client. Contains nothing of the deployment, such as addresses,
     * workers or texts of exceptions: the access log has these.
     */
    interface ErrorContext {
        /** Returns the status of the response. The renderer cannot change it. */
        int status();

        /**
         * Returns the token of the failure, for example {@code queue_full}. Requests that break
         * rules of HTTP have {@code bad_request}.
         */
        String failure();

        /**
         * Returns the sentence of the failure in {@code docs/reference/failures.md}, or which rule
         * of HTTP the request breaks. The latter may contain parts of the request, so it must be
         * escaped in HTML.
         */
        String detail();

        /**
         * Returns the path and query of the request, of which each character is one byte, or {@code
         * null} if its headers could not be read.
         */
        @Nullable
        String path();

        /**
         * Returns the first value of a header of the request as text: UTF-8, or ISO 8859-1 if it is
         * not valid UTF-8. {@code null} if there is none, or the headers could not be read.
         *
         * @param name the name in lower case
         */
        @Nullable
        String header(CharSequence name);

        /**
         * Returns the id of the request, or {@code null} if requests get no id or its headers could
         * not be read.
         */
        @Nullable
        String requestId();
    }

    /**
     * The body of an error response.
     *
     * @param contentType the value of {@code content-type}
     * @param body the body, which must not be changed afterwards
     */
    record ErrorPage(String contentType, byte[] body) {
        /**
         * @throws IllegalArgumentException if {@code contentType} cannot be the value of a header
         */
        public ErrorPage {
            Objects.requireNonNull(body, "body");
            if (contentType.isEmpty() || !HeaderSyntax.isValue(contentType)) {
                throw new IllegalArgumentException(
                        "contentType: '" + contentType + "', expected a value such as text/html; charset=utf-8");
            }
        }
    }

    /**
     * Returns a renderer of problem details in JSON (RFC 9457): {@code title}, {@code status},
     * {@code detail}, and the members {@code failure} and, if there is one, {@code requestId}.
     */
    static ErrorRenderer problemJson() {
        return error -> {
            Map<String, Object> problem = new LinkedHashMap<>();
            problem.put("title", HttpResponseStatus.valueOf(error.status()).reasonPhrase());
            problem.put("status", error.status());
            problem.put("detail", error.detail());
            problem.put("failure", error.failure());
            String id = error.requestId();
            if (id != null) {
                problem.put("requestId", id);
            }
            return new ErrorPage("application/problem+json", Json.bytes(problem));
        };
    }
}
