package io.lambdadispatcher.core.request;

import io.lambdadispatcher.wire.http.FlatHeaders;
import io.lambdadispatcher.wire.http.HeaderMaps;
import io.lambdadispatcher.wire.http.HeaderSyntax;
import io.lambdadispatcher.wire.http.HeaderText;
import io.lambdadispatcher.wire.http.OutgoingHeaders;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.util.AsciiString;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Flow;
import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;

/**
 * A request of an embedding program. Immutable. A request can be dispatched repeatedly if its body
 * supports repeated subscription.
 *
 * <pre>{@code
 * DispatchRequest.post("/orders").header("content-type", "application/json").body("{}").build()
 * }</pre>
 *
 * <p>The rules for clients' requests apply here, too: hop-by-hop headers, {@code host} and {@code
 * expect} are not passed on. The body must be as long as its {@code content-length} says, otherwise
 * the response fails with {@code BAD_REQUEST}. Forwarding headers are not added.
 */
public final class DispatchRequest {
    private final String method;
    private final String scheme;
    private final String authority;
    private final String path;
    private final Http2Headers headers;
    private final Flow.@Nullable Publisher<ByteBuf> body;
    private final @Nullable CompletionStage<Map<String, List<String>>> trailers;
    private final @Nullable String client;

    private DispatchRequest(Builder from) {
        method = from.method;
        scheme = from.scheme;
        authority = from.authority;
        path = from.path;
        headers = new FlatHeaders().add(from.headers);
        body = from.body;
        trailers = from.trailers;
        client = from.client;
    }

    /** Begins a GET request. See {@link #builder}. */
    public static Builder get(String path) {
        return builder("GET", path);
    }

    /** Begins a POST request. See {@link #builder}. */
    public static Builder post(String path) {
        return builder("POST", path);
    }

    /**
     * Begins a request.
     *
     * @param method the method, which must not be CONNECT
     * @param path the path and query, which begin with {@code /}; or {@code *}. An {@code
     *     AsciiString} is sent unchanged, and text as UTF-8
     * @throws IllegalArgumentException if no HTTP request can have this method or path
     */
    public static Builder builder(String method, CharSequence path) {
        return new Builder(method, path);
    }

    public String method() {
        return method;
    }

    public String scheme() {
        return scheme;
    }

    /** Returns the host and port. */
    public String authority() {
        return authority;
    }

    /** Returns the path and query as they are sent: each character is one byte. */
    public String path() {
        return path;
    }

    /**
     * Returns the first value of a header as text: UTF-8, or ISO 8859-1 if it is not valid UTF-8.
     * {@code null} if there is none.
     *
     * @param name the name in lower case
     */
    public @Nullable String header(CharSequence name) {
        CharSequence value = headers.get(name);
        return value == null ? null : HeaderText.decode(value);
    }

    /**
     * Returns all values by name, in the order of their first appearance. Names are in lower case,
     * and values are text as in {@link #header}. Not modifiable.
     */
    public Map<String, List<String>> headers() {
        return HeaderMaps.of(headers);
    }

    /**
     * Calls {@code action} with the name and value of each header as they are sent: each character
     * is one byte.
     */
    public void forEachHeader(BiConsumer<CharSequence, CharSequence> action) {
        headers.forEach(header -> action.accept(header.getKey(), header.getValue()));
    }

    /** Returns the body, or {@code null} if there is none. */
    public Flow.@Nullable Publisher<ByteBuf> body() {
        return body;
    }

    /** Returns the trailers, or {@code null} if there are none. */
    public @Nullable CompletionStage<Map<String, List<String>>> trailers() {
        return trailers;
    }

    /** Returns the name of the client, or {@code null} for the embedding program itself. */
    public @Nullable String client() {
        return client;
    }

    /** Builds {@link DispatchRequest}. Setters validate their arguments. Not thread-safe. */
    public static final class Builder {
        private final String method;
        private final String path;
        private final FlatHeaders headers = new FlatHeaders();
        private String scheme = "http";
        private String authority = "localhost";
        private Flow.@Nullable Publisher<ByteBuf> body;

        /** Whether {@link #body(byte[])} has set the {@code content-length}. */
        private boolean hasLengthOfBytes;

        private @Nullable CompletionStage<Map<String, List<String>>> trailers;
        private @Nullable String client;

        private Builder(String method, CharSequence path) {
            verify(HeaderSyntax.isToken(method), "method", method, "a token such as GET");
            verify(
                    !method.equals("CONNECT"),
                    "method",
                    method,
                    "any method except CONNECT, because a tunnel is not a request");
            // One character for each byte, as in the headers.
            this.path = HeaderText.bytesOf(path).toString();
            verify(
                    HeaderSyntax.isPath(this.path, method),
                    "path",
                    path.toString(),
                    "visible characters that begin with '/' and have no '#', or '*' with OPTIONS");
            this.method = method;
        }

        private static void verify(boolean holds, String name, String value, String expected) {
            if (!holds) {
                throw new IllegalArgumentException(
                        name + " " + HeaderSyntax.printable(value) + ", expected " + expected);
            }
        }

        /** Sets the host and port of the request. Default: {@code localhost}. */
        public Builder authority(String hostAndPort) {
            if (hostAndPort.length() > HeaderSyntax.MOST_AUTHORITY_CHARS) {
                throw new IllegalArgumentException("authority of " + hostAndPort.length()
                        + " characters, expected at most " + HeaderSyntax.MOST_AUTHORITY_CHARS);
            }
            verify(
                    HeaderSyntax.isAuthority(hostAndPort),
                    "authority",
                    hostAndPort,
                    "a host, optionally with ':' and a port");
            authority = hostAndPort;
            return this;
        }

        /** Sets the scheme that the handler sees. Default: {@code http}. */
        public Builder scheme(String value) {
            verify(value.equals("http") || value.equals("https"), "scheme", value, "'http' or 'https'");
            scheme = value;
            return this;
        }

        /**
         * Adds a header.
         *
         * @param name the name, which is sent in lower case
         * @param value the value. An {@code AsciiString}, or a string whose characters are the
         *     bytes of UTF-8, is sent unchanged, and other text is sent as UTF-8
         * @throws IllegalArgumentException if no HTTP request can have this header
         */
        public Builder header(CharSequence name, CharSequence value) {
            OutgoingHeaders.verifyName(name);
            headers.add(AsciiString.of(name).toLowerCase(), OutgoingHeaders.verifyValue(name, value));
            return this;
        }

        /**
         * Sets the body, with its length as {@code content-length}. The array must not be changed
         * afterwards.
         */
        public Builder body(byte[] bytes) {
            body(subscriber -> subscriber.onSubscribe(new OneBuffer(subscriber, Unpooled.wrappedBuffer(bytes))));
            headers.set(HttpHeaderNames.CONTENT_LENGTH, AsciiString.of(Integer.toString(bytes.length)));
            hasLengthOfBytes = true;
            return this;
        }

        /** Sets the body, in UTF-8, with its length as {@code content-length}. */
        public Builder body(String text) {
            return body(text.getBytes(StandardCharsets.UTF_8));
        }

        /**
         * Sets a body that is sent as it is published.
         *
         * @param publisher the publisher of the body. The dispatcher subscribes when the request is
         *     dispatched, and requests more as the worker receives the body. The dispatcher owns
         *     each buffer after {@code onNext}, so the publisher must neither release nor change
         *     it. {@code onError} cancels the request
         */
        public Builder body(Flow.Publisher<ByteBuf> publisher) {
            body = Objects.requireNonNull(publisher, "body");
            if (hasLengthOfBytes) {
                // The length is that of the body that this one replaces.
                headers.remove(HttpHeaderNames.CONTENT_LENGTH);
                hasLengthOfBytes = false;
            }
            return this;
        }

        /**
         * Sets trailers that are sent after the body, if the stage is complete by then. Ignored
         * without a body.
         *
         * @param value the values by name, as in {@link #header}
         */
        public Builder trailers(CompletionStage<Map<String, List<String>>> value) {
            trailers = Objects.requireNonNull(value, "trailers");
            return this;
        }

        /**
         * Names the client for whom the request is made, for fairness between clients. Default: the
         * embedding program itself, which is trusted: its requests take turns with those of other
         * clients, but no share limits them.
         */
        public Builder client(String name) {
            client = Objects.requireNonNull(name, "client");
            return this;
        }

        public DispatchRequest build() {
            return new DispatchRequest(this);
        }
    }
}
