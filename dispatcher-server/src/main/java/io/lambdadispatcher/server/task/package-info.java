/** Tasks that are run again and again. */
@NullMarked
package io.lambdadispatcher.server.task;

import org.jspecify.annotations.NullMarked;
