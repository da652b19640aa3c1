/** The dispatcher as a library: {@link io.lambdadispatcher.core.Dispatcher}. */
module io.lambdadispatcher.core {
    requires transitive io.lambdadispatcher.wire;
    requires transitive io.netty.handler;
    requires transitive io.netty.transport;
    requires static com.google.errorprone.annotations;
    requires static transitive org.jspecify;
    requires io.netty.codec.haproxy;
    requires java.management;
    requires jdk.management;
    requires org.slf4j;

    exports io.lambdadispatcher.core;
    exports io.lambdadispatcher.core.observe;
    exports io.lambdadispatcher.core.options;
    exports io.lambdadispatcher.core.request;
    exports io.lambdadispatcher.core.spi;
}
