package io.lambdadispatcher.server.config;

import java.time.Duration;

/** A number of requests in a time. */
record Rate(int requests, Duration window) {}
