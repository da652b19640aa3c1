/**
 * The log of the server. Logback is configured in code, because parsing XML makes startup slower
 * and there are only a few settings.
 */
@NullMarked
package io.lambdadispatcher.server.log;

import org.jspecify.annotations.NullMarked;
