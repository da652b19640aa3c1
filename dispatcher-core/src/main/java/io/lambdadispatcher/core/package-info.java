/**
 * The dispatcher itself, on top of everything else: {@link io.lambdadispatcher.core.Dispatcher} and
 * its builder. What they are given and what they tell is in the packages {@code options}, {@code
 * request}, {@code observe} and {@code spi}.
 */
@NullMarked
package io.lambdadispatcher.core;

import org.jspecify.annotations.NullMarked;
