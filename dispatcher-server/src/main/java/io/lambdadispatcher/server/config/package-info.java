/**
 * The configuration of the server. {@link io.lambdadispatcher.server.config.Settings} defines all
 * settings. They are read from a YAML file, environment variables and flags with the same names, on
 * the main thread, before any port is opened.
 */
@NullMarked
package io.lambdadispatcher.server.config;

import org.jspecify.annotations.NullMarked;
