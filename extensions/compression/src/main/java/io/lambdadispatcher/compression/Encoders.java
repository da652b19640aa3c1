package io.lambdadispatcher.compression;

import io.lambdadispatcher.wire.http.ContentEncoder;
import io.lambdadispatcher.wire.http.GzipEncoder;

/**
 * Creates encoders. {@code docs/guides/compress-responses.md} has the measurements from which their
 * levels were chosen: 64 KiB of text take less than a millisecond of the event loop.
 */
final class Encoders {
    static final int GZIP_LEVEL = 2;

    private Encoders() {}

    /**
     * @throws RuntimeException if the native library has no memory
     * @throws OutOfMemoryError if zlib has no memory
     * @throws LinkageError if the native library cannot be loaded
     */
    static ContentEncoder create(ContentEncoding encoding) {
        return switch (encoding) {
            case GZIP -> new GzipEncoder(GZIP_LEVEL);
            case BR -> new BrotliEncoder();
            case ZSTD -> new ZstdEncoder();
        };
    }

    /** Returns what {@link ContentEncoder#memoryBytes} of a new encoder would be. */
    static int memoryBytes(ContentEncoding encoding) {
        return switch (encoding) {
            case GZIP -> GzipEncoder.MEMORY_BYTES;
            case BR -> BrotliEncoder.MEMORY_BYTES;
            case ZSTD -> ZstdEncoder.MEMORY_BYTES;
        };
    }
}
