/**
 * A Spring Boot web application that is its own base, and also the worker that is launched for what
 * exceeds the base. {@link io.lambdadispatcher.spring.burst.BurstProperties} lists the three
 * properties:
 *
 * <pre>
 * lambda-dispatcher.burst.function=shop:live
 * lambda-dispatcher.burst.base-concurrency=100
 * lambda-dispatcher.burst.max-workers=20
 * </pre>
 *
 * <p>{@link io.lambdadispatcher.spring.burst.BurstEnvironment} translates them to properties of the
 * starters of the dispatcher and of the worker, which do the work.
 */
@NullMarked
package io.lambdadispatcher.spring.burst;

import org.jspecify.annotations.NullMarked;
