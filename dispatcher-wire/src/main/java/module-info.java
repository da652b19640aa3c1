/**
 * The formats on the wire, the streams of blocking handlers and the processor time, for the other
 * modules of Lambda Dispatcher. Programs use none of its types.
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

    exports io.lambdadispatcher.wire.blocking to
            io.lambdadispatcher.core,
            io.lambdadispatcher.worker;
    exports io.lambdadispatcher.wire.cpu to
            io.lambdadispatcher.core,
            io.lambdadispatcher.worker;
    exports io.lambdadispatcher.wire.event to
            io.lambdadispatcher.aws,
            io.lambdadispatcher.core,
            io.lambdadispatcher.worker;
    exports io.lambdadispatcher.wire.http to
            io.lambdadispatcher.accesslog,
            io.lambdadispatcher.aws,
            io.lambdadispatcher.cache,
            io.lambdadispatcher.compression,
            io.lambdadispatcher.core,
            io.lambdadispatcher.opentelemetry,
            io.lambdadispatcher.test,
            io.lambdadispatcher.worker;
    exports io.lambdadispatcher.wire.http2 to
            io.lambdadispatcher.core,
            io.lambdadispatcher.worker;
    exports io.lambdadispatcher.wire.tls to
            io.lambdadispatcher.core,
            io.lambdadispatcher.worker;
    exports io.lambdadispatcher.wire.worker to
            io.lambdadispatcher.core,
            io.lambdadispatcher.worker;
}
