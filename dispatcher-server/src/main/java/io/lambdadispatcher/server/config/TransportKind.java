package io.lambdadispatcher.server.config;

/** Netty's transports, as values of a setting. */
public enum TransportKind {
    AUTO,
    IO_URING,
    EPOLL,
    NIO
}
