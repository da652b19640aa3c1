/**
 * The formats on the wire. For {@code dispatcher-core} and {@code lambda-worker}; programs need few of its types, such as error codes and
 * event formats.
 */
module io.lambdadispatcher.wire {
    requires transitive io.netty.buffer;
    requires transitive io.netty.codec;
    requires transitive io.netty.codec.http;
    requires transitive io.netty.codec.http2;
    requires transitive io.netty.common;
    requires transitive io.netty.transport;
    requires io.netty.handler;
    requires static transitive org.jspecify;
    requires tools.jackson.core;

    exports io.lambdadispatcher.wire.event;
    exports io.lambdadispatcher.wire.worker;
    exports io.lambdadispatcher.wire.http to
            io.lambdadispatcher.core,
            io.lambdadispatcher.test,
            io.lambdadispatcher.worker;
    exports io.lambdadispatcher.wire.http2 to
            io.lambdadispatcher.core,
            io.lambdadispatcher.worker;
}
