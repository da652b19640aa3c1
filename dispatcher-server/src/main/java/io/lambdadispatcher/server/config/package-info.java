/**
 * The configuration of the server: one table of settings ({@link
 * io.lambdadispatcher.server.config.Settings}), which are read from a YAML file, environment
 * variables and flags under the same names. Used on the main thread, before anything is opened.
 */
@NullMarked
package io.lambdadispatcher.server.config;

import org.jspecify.annotations.NullMarked;
