/**
 * The admin port: the live page, {@code /api} with its commands, {@code /health}, {@code /ready},
 * {@code /started}, {@code /metrics} and {@code /launching}, on an event loop and threads of its
 * own.
 */
@NullMarked
package io.lambdadispatcher.server.admin;

import org.jspecify.annotations.NullMarked;
