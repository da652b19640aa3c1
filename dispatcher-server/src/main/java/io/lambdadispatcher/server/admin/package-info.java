/** The admin port: {@code /health}, {@code /ready} and {@code /metrics}, on threads of its own. */
@NullMarked
package io.lambdadispatcher.server.admin;

import org.jspecify.annotations.NullMarked;
