/**
 * What others may implement: where workers live, how a function is invoked directly, and which
 * function a request is for.
 */
@NullMarked
package io.lambdadispatcher.core.spi;

import org.jspecify.annotations.NullMarked;
