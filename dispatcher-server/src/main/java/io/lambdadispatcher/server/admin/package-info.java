/**
 * The admin port: the live page, {@code /api}, {@code /health}, {@code /ready}, {@code /metrics}
 * and {@code /launching}, on an event loop and threads of its own.
 */
@NullMarked
package io.lambdadispatcher.server.admin;

import org.jspecify.annotations.NullMarked;
