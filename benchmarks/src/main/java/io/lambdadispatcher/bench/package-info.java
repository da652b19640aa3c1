/** JMH's command line, and the file that its results are written to. */
@NullMarked
package io.lambdadispatcher.bench;

import org.jspecify.annotations.NullMarked;
