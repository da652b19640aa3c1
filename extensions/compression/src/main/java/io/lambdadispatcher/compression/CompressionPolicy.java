package io.lambdadispatcher.compression;

import io.netty.util.AsciiString;
import java.util.HashSet;
import java.util.List;

/**
 * Which responses are compressed for clients that accept it. {@link Builder} states the defaults.
 * Without such a policy, none is. Immutable.
 *
 * <p>Compression tells an attacker something about a body that has both a secret and a part that
 * the attacker chooses, because the size of the response depends on whether they are alike
 * (BREACH). Turn it on for routes whose responses do not have both.
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

    static final int DEFAULT_MIN_BYTES = 1024;
    private static final MediaTypes BY_DEFAULT = MediaTypes.of(DEFAULT_TYPES);

    private final List<ContentEncoding> encodings;
    private final List<AsciiString> tokens;
    private final MediaTypes types;
    private final int minBytes;

    private CompressionPolicy(Builder from, boolean available) {
        encodings = from.encodings;
        tokens = encodings.stream().map(ContentEncoding::ascii).toList();
        types = from.types;
        minBytes = from.minBytes;
        require(
                new HashSet<>(encodings).size() == encodings.size(),
                "encodings: " + encodings + ", expected each at most once");
        for (ContentEncoding encoding : encodings) {
            require(
                    !available || encoding.isAvailable(),
                    "encodings: " + encoding.token() + ", expected " + encoding.artifact() + " on the class path");
        }
        require(minBytes >= 0, "minBytes: " + minBytes + ", expected 0 or more");
    }

    private static void require(boolean holds, String problem) {
        if (!holds) {
            throw new IllegalArgumentException(problem);
        }
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
    List<AsciiString> tokens() {
        return tokens;
    }

    /** Returns the types of responses that are compressed. See {@link Builder#types}. */
    public List<String> types() {
        return types.types();
    }

    MediaTypes mediaTypes() {
        return types;
    }

    /** Returns the size below which a response is not compressed. See {@link Builder#minBytes}. */
    public int minBytes() {
        return minBytes;
    }

    /**
     * Builds {@link CompressionPolicy}. Setters accept any value, except that {@link #types} must
     * be types, and {@link #build} validates them. Not thread-safe.
     */
    public static final class Builder {
        private List<ContentEncoding> encodings = List.of();
        private MediaTypes types = BY_DEFAULT;
        private int minBytes = DEFAULT_MIN_BYTES;

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
         *
         * @throws IllegalArgumentException if one of them is no type
         */
        public Builder types(List<String> values) {
            types = MediaTypes.of(values);
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
            return new CompressionPolicy(this, true);
        }

        /** Returns a policy whose codecs are checked later, so that a setting can name them. */
        CompressionPolicy buildUnchecked() {
            return new CompressionPolicy(this, false);
        }
    }
}
