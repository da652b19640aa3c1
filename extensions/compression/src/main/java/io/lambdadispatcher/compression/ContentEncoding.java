package io.lambdadispatcher.compression;

import io.netty.handler.codec.compression.Brotli;
import io.netty.handler.codec.compression.Zstd;
import io.netty.util.AsciiString;

/**
 * A way to compress the body of a response. All clients that compress know {@link #GZIP}. The
 * others need a library on the class path, which {@link #artifact} names.
 */
public enum ContentEncoding {
    /** RFC 8878, with windows of at most 256 KiB. */
    ZSTD("zstd", "com.github.luben:zstd-jni") {
        @Override
        public boolean isAvailable() {
            return Zstd.isAvailable();
        }
    },
    /** Brotli (RFC 7932). */
    BR("br", "com.aayushatharva.brotli4j:brotli4j and its native library, such as native-linux-x86_64") {
        @Override
        public boolean isAvailable() {
            return Brotli.isAvailable();
        }
    },
    /** RFC 1952. The JDK has it. */
    GZIP("gzip", "the JDK") {
        @Override
        public boolean isAvailable() {
            return true;
        }
    };

    private final AsciiString token;
    private final String artifact;

    ContentEncoding(String token, String artifact) {
        this.token = AsciiString.cached(token);
        this.artifact = artifact;
    }

    /** Returns the name in {@code accept-encoding} and {@code content-encoding}. */
    public String token() {
        return token.toString();
    }

    AsciiString ascii() {
        return token;
    }

    /** Returns the Maven artifact that contains the codec. */
    public String artifact() {
        return artifact;
    }

    /** Returns whether the codec is on the class path and its native library can be loaded. */
    public abstract boolean isAvailable();
}
