package io.lambdadispatcher.server.config;

/** How sockets are served. */
public enum TransportKind {
    AUTO,
    IO_URING,
    EPOLL,
    NIO
}
