/** What others may implement: where workers live, and which function a request is for. */
@NullMarked
package io.lambdadispatcher.core.spi;

import org.jspecify.annotations.NullMarked;
