/** A web application in a separate process that knows neither Lambda nor this project. */
@NullMarked
package io.lambdadispatcher.it.webdemo;

import org.jspecify.annotations.NullMarked;
