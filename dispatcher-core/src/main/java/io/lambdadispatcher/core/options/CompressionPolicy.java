package io.lambdadispatcher.core.options;

import io.lambdadispatcher.wire.http.HeaderSyntax;
import io.netty.util.AsciiString;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * Which responses are compressed for clients that accept it. {@link Builder} states the defaults.
 * Immutable.
 *
 * <p>By default, none is. Compression tells an attacker something about a body that has both a
 * secret and a part that the attacker chooses, because the size of the response depends on whether
 * they are alike (BREACH). Turn it on for routes whose responses do not have both.
 */
public final class CompressionPolicy {
    /** The types that are compressed by default. All of them are text, or shrink as text does. */
    public static final List<String> DEFAULT_TYPES = List.of(
            "text/*",
            "*+json",
            "*+xml",
            "application/json",
            "application/x-ndjson",
            "application/javascript",
            "application/xml",
            "application/wasm",
            "application/vnd.ms-fontobject",
            "font/otf",
            "font/ttf",
            "image/bmp",
            "image/x-icon");

    /** Compresses nothing. */
    public static final CompressionPolicy OFF = builder().build();

    private final List<ContentEncoding> encodings;
    private final List<AsciiString> tokens;
    private final List<String> types;
    private final List<Pattern> patterns;
    private final int minBytes;

    private CompressionPolicy(Builder from) {
        encodings = from.encodings;
        tokens = encodings.stream().map(ContentEncoding::token).toList();
        types = from.types;
        patterns = types.stream().map(Pattern::of).toList();
        minBytes = from.minBytes;
        Check.that(
                new HashSet<>(encodings).size() == encodings.size(),
                "encodings",
                encodings.toString(),
                "each at most once");
        for (ContentEncoding encoding : encodings) {
            Check.that(
                    encoding.isAvailable(),
                    "encodings",
                    encoding.token().toString(),
                    encoding.artifact() + " on the class path");
        }
        Check.range("minBytes", minBytes, 0, Integer.MAX_VALUE);
    }

    /** Starts a policy with the defaults. */
    public static Builder builder() {
        return new Builder();
    }

    /** Returns whether no response is compressed. */
    public boolean isOff() {
        return encodings.isEmpty();
    }

    /** Returns the encodings in the order of preference. See {@link Builder#encodings}. */
    public List<ContentEncoding> encodings() {
        return encodings;
    }

    /** Returns the tokens of {@link #encodings}, in the same order. */
    public List<AsciiString> tokens() {
        return tokens;
    }

    /** Returns the types of responses that are compressed. See {@link Builder#types}. */
    public List<String> types() {
        return types;
    }

    /** Returns the size below which a response is not compressed. See {@link Builder#minBytes}. */
    public int minBytes() {
        return minBytes;
    }

    /**
     * Returns whether responses of this type are compressed.
     *
     * @param contentType value of the header, with or without parameters; {@code null} = there is
     *     none, so the response is not compressed
     */
    public boolean hasType(@Nullable CharSequence contentType) {
        if (contentType == null) {
            return false;
        }
        int semicolon = AsciiString.indexOf(contentType, ';', 0);
        int end = semicolon < 0 ? contentType.length() : semicolon;
        while (end > 0 && (contentType.charAt(end - 1) == ' ' || contentType.charAt(end - 1) == '\t')) {
            end--;
        }
        for (int i = 0; i < patterns.size(); i++) {
            if (patterns.get(i).matches(contentType, end)) {
                return true;
            }
        }
        return false;
    }

    /**
     * A type, or all types with the same beginning or end.
     *
     * @param fixed the part without the star
     */
    private record Pattern(String fixed, boolean beginning, boolean end) {
        static Pattern of(String type) {
            boolean end = type.startsWith("*");
            boolean beginning = type.endsWith("*");
            String fixed = type.replace("*", "");
            String sample = type.replace("*", end ? "a/b" : "b");
            int slash = sample.indexOf('/');
            Check.that(
                    slash > 0
                            && HeaderSyntax.isToken(sample.substring(0, slash))
                            && HeaderSyntax.isToken(sample.substring(slash + 1))
                            && (beginning ? fixed.endsWith("/") : !end || fixed.startsWith("+")),
                    "types",
                    "\"" + type + "\"",
                    "a type such as application/json, text/* or *+json");
            return new Pattern(fixed, beginning, end);
        }

        /** @param length of the type, without parameters */
        boolean matches(CharSequence type, int length) {
            int rest = length - fixed.length();
            int from = end ? rest : 0;
            return (beginning || end ? rest > 0 : rest == 0)
                    && AsciiString.regionMatches(type, true, from, fixed, 0, fixed.length());
        }
    }

    /**
     * Builds {@link CompressionPolicy}. Setters accept any value, and {@link #build} validates
     * them. Not thread-safe.
     */
    public static final class Builder {
        private List<ContentEncoding> encodings = List.of();
        private List<String> types = DEFAULT_TYPES;
        private int minBytes = 1024;

        private Builder() {}

        /**
         * Sets the encodings. The one that the client likes best is used, and the first one of
         * several that it likes equally. Default: none, so nothing is compressed.
         */
        public Builder encodings(List<ContentEncoding> values) {
            encodings = List.copyOf(values);
            return this;
        }

        /**
         * Sets the types of responses that are compressed: {@code application/json}, {@code text/*}
         * or {@code *+json}. Default: {@link #DEFAULT_TYPES}.
         */
        public Builder types(List<String> values) {
            types = values.stream().map(type -> type.toLowerCase(Locale.ROOT)).toList();
            return this;
        }

        /**
         * Sets the size below which a response is not compressed, because its {@code
         * content-length} says that it fits into one packet. Responses without a length are
         * compressed. Default: 1024.
         *
         * @param bytes 0 or more
         */
        public Builder minBytes(int bytes) {
            minBytes = bytes;
            return this;
        }

        /**
         * Returns the policy.
         *
         * @throws IllegalArgumentException if a value is not allowed, or if the codec of an
         *     encoding is not on the class path. The message names the artifact
         */
        public CompressionPolicy build() {
            return new CompressionPolicy(this);
        }
    }
}
