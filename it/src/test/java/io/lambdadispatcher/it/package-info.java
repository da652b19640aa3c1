/** Tests of all parts together, over real sockets and with real worker processes. */
@NullMarked
package io.lambdadispatcher.it;

import org.jspecify.annotations.NullMarked;
