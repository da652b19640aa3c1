/**
 * What the server is told: one table of settings ({@link io.lambdadispatcher.server.config.Settings}), read from a YAML file, environment
 * variables and flags under the same names. Runs once, on the main thread, before anything is opened.
 */
@NullMarked
package io.lambdadispatcher.server.config;

import org.jspecify.annotations.NullMarked;
