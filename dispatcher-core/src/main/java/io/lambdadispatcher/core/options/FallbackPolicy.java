package io.lambdadispatcher.core.options;

import io.netty.util.AsciiString;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * What answers a request if its function does not: another function, then a fixed response. They
 * replace errors of the dispatcher that are not the client's fault, and responses with the status
 * 500, 502, 503 or 504, as {@code stale-if-error} does (RFC 5861 section 4). Tunnels and gRPC calls
 * have no fixed response. {@link Builder} states units, defaults and ranges. Immutable.
 *
 * <pre>{@code
 * FallbackPolicy ofSearch = FallbackPolicy.builder()
 *         .function("search-simple")
 *         .response(200, "application/json", "{\"hits\":[]}".getBytes(StandardCharsets.UTF_8))
 *         .build();
 * }</pre>
 */
public final class FallbackPolicy {
    /** Answers nothing. */
    public static final FallbackPolicy NONE = builder().build();

    private static final int MAX_BODY_BYTES = 64 * 1024;

    private final @Nullable String function;
    private final int status;
    private final AsciiString contentType;
    private final byte[] body;

    private FallbackPolicy(Builder from) {
        function = from.function;
        status = from.status;
        contentType = from.contentType;
        body = from.body;
        Check.that(
                status == 0 || status >= 200 && status <= 599 && status != 204 && status != 205 && status != 304,
                "status",
                Integer.toString(status),
                "200 to 599, except 204, 205 and 304");
        Check.range("body size", body.length, 0, MAX_BODY_BYTES);
        Check.that(
                contentType.chars().allMatch(c -> c >= ' ' && c <= '~') && !contentType.isEmpty(),
                "contentType",
                "'" + contentType + "'",
                "a media type in ASCII");
    }

    /** Starts a policy that answers nothing. */
    public static Builder builder() {
        return new Builder();
    }

    /** Returns the name of the other function, or {@code null}. See {@link Builder#function}. */
    public @Nullable String function() {
        return function;
    }

    /** Returns the status of the fixed response; 0 = none. See {@link Builder#response}. */
    public int status() {
        return status;
    }

    /** Returns the {@code content-type} of the fixed response. See {@link Builder#response}. */
    public AsciiString contentType() {
        return contentType;
    }

    /** Returns the body of the fixed response, which must not be changed. */
    public byte[] body() {
        return body;
    }

    /** Returns whether nothing answers, so that the policy costs nothing. */
    public boolean isOff() {
        return function == null && status == 0;
    }

    /**
     * Builds {@link FallbackPolicy}. Setters accept any value, and {@link #build} validates them.
     * Not thread-safe.
     */
    public static final class Builder {
        private @Nullable String function;
        private int status;
        private AsciiString contentType = AsciiString.cached("text/plain; charset=utf-8");
        private byte[] body = new byte[0];

        private Builder() {}

        /**
         * Sets the function that gets the request. It applies its own policy and limits, but no
         * fallback of its own. A request whose body has begun to arrive is not sent there. If the
         * function may have begun with the request, only idempotent methods are sent there (RFC
         * 9110 section 9.2.2). Default: none.
         *
         * @param name name of another function of the same dispatcher. If there is none, the fixed
         *     response applies
         */
        public Builder function(String name) {
            function = Objects.requireNonNull(name, "name");
            return this;
        }

        /**
         * Sets the fixed response. It has {@code cache-control: no-store}. Default: none.
         *
         * @param code 200 to 599, except 204, 205 and 304; 0 = no fixed response
         * @param type value of {@code content-type}
         * @param content at most 64 KiB, copied
         */
        public Builder response(int code, String type, byte[] content) {
            status = code;
            contentType = AsciiString.of(type);
            body = content.clone();
            return this;
        }

        /**
         * Returns the policy.
         *
         * @throws IllegalArgumentException if a value is out of its range
         */
        public FallbackPolicy build() {
            return new FallbackPolicy(this);
        }
    }
}
