package io.lambdadispatcher.server.config;

/** The body of the dispatcher's own error responses. */
public enum ErrorFormat {
    TEXT,
    PROBLEM_JSON
}
