/** A web application that knows nothing of Lambda or of this project, in a process of its own. */
@NullMarked
package io.lambdadispatcher.it.webdemo;

import org.jspecify.annotations.NullMarked;
