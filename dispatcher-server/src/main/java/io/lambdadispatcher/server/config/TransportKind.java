package io.lambdadispatcher.server.config;

/** How sockets are served. */
public enum TransportKind implements ValueType.Named {
    AUTO("auto"),
    IO_URING("io_uring"),
    EPOLL("epoll"),
    NIO("nio");

    private final String settingName;

    TransportKind(String settingName) {
        this.settingName = settingName;
    }

    @Override
    public String settingName() {
        return settingName;
    }
}
