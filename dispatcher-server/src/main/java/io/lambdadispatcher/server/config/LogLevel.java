package io.lambdadispatcher.server.config;

/** As slf4j names them. */
public enum LogLevel {
    ERROR,
    WARN,
    INFO,
    DEBUG,
    TRACE
}
