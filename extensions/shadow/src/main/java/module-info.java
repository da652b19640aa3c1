/** Copies requests to another function: {@link io.lambdadispatcher.shadow.ShadowTraffic}. */
module io.lambdadispatcher.shadow {
    requires transitive io.lambdadispatcher.core;
    requires org.slf4j;
    requires static transitive org.jspecify;

    exports io.lambdadispatcher.shadow;

    provides io.lambdadispatcher.core.spi.FilterExtension with
            io.lambdadispatcher.shadow.ShadowExtension;
}
