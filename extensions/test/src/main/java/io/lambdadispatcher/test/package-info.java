/**
 * Tests of handlers and of programs that embed a dispatcher. {@link io.lambdadispatcher.test.TestDispatcher} is a dispatcher and a worker over
 * real HTTP/2 in one JVM, {@link io.lambdadispatcher.test.LambdaDispatcherTest} gives one to JUnit tests, and {@link
 * io.lambdadispatcher.test.HandlerProbe} calls a handler without a network.
 */
@NullMarked
package io.lambdadispatcher.test;

import org.jspecify.annotations.NullMarked;
