/** Compresses responses: {@link io.lambdadispatcher.compression.ResponseCompression}. */
module io.lambdadispatcher.compression {
    requires transitive io.lambdadispatcher.core;
    requires io.netty.codec.compression;
    requires org.slf4j;
    requires static transitive org.jspecify;
    // Only for br or zstd: see ContentEncoding.
    requires static com.aayushatharva.brotli4j;
    requires static com.github.luben.zstd_jni;

    exports io.lambdadispatcher.compression;

    provides io.lambdadispatcher.core.spi.FilterExtension with
            io.lambdadispatcher.compression.CompressionExtension;
}
