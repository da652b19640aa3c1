/**
 * Where log lines go: Logback, set up in code, for XML costs start-up time and the few settings are
 * ours.
 */
@NullMarked
package io.lambdadispatcher.server.log;

import org.jspecify.annotations.NullMarked;
