package io.lambdadispatcher.server.config;

/** Form of the lines of the program's log. */
public enum LogFormat {
    TEXT,
    JSON
}
