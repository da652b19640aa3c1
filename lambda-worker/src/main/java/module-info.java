/** The worker as a library: {@link io.lambdadispatcher.worker.Worker}. */
module io.lambdadispatcher.worker {
    requires transitive io.lambdadispatcher.wire;
    requires io.netty.handler;
    requires static io.netty.transport.classes.epoll;
    requires static transitive org.jspecify;
    requires org.slf4j;
    requires tools.jackson.core;
    // Not transitive, because it is an automatic module: a program that calls its types requires
    // it by itself, and no other program depends on a name that its file gives it.
    requires aws.lambda.java.core;
    // Only if the program has it: see TraceContext.
    requires static io.opentelemetry.api;
    requires static io.opentelemetry.context;
    // For worker.aws and worker.snapshot, whose users bring them.
    requires static org.crac;
    requires static software.amazon.awssdk.http;
    requires static software.amazon.awssdk.http.apache;
    requires static software.amazon.awssdk.http.nio.netty;

    exports io.lambdadispatcher.worker;
    exports io.lambdadispatcher.worker.adapter.web;
    exports io.lambdadispatcher.worker.aws;
    exports io.lambdadispatcher.worker.blocking;
    exports io.lambdadispatcher.worker.config;
    exports io.lambdadispatcher.worker.handler;
    exports io.lambdadispatcher.worker.snapshot;
    exports io.lambdadispatcher.worker.websocket;
}
