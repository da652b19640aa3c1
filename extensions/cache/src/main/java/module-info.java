/** Answers with stored responses: {@link io.lambdadispatcher.cache.HttpCache}. */
module io.lambdadispatcher.cache {
    requires transitive io.lambdadispatcher.core;
    requires com.github.benmanes.caffeine;
    requires static transitive org.jspecify;

    exports io.lambdadispatcher.cache;

    provides io.lambdadispatcher.core.spi.FilterExtension with
            io.lambdadispatcher.cache.CacheExtension;
}
