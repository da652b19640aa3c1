package io.lambdadispatcher.server.config;

/** How requests get to a function. */
public enum Mode {
    /** By way of workers. */
    DISPATCH,
    /** One Lambda invocation for each request. */
    DIRECT
}
