package io.lambdadispatcher.server.config;

/** How traces are sent: the transports of OTLP. */
public enum TracingProtocol {
    GRPC,
    HTTP
}
