/**
 * Tools for tests of handlers and of programs that embed a dispatcher.
 *
 * <pre>{@code
 * @LambdaDispatcherTest(Greeter.class)
 * class GreeterTest {
 *     @Test
 *     void should_greet(TestDispatcher dispatcher) {
 *         assertEquals("hello", dispatcher.get("/").text());
 *     }
 * }
 * }</pre>
 *
 * <ul>
 *   <li>{@link io.lambdadispatcher.test.HandlerProbe} calls a handler without a network.
 *   <li>{@link io.lambdadispatcher.test.TestDispatcher} runs a dispatcher and a worker over HTTP/2
 *       in one JVM.
 *   <li>{@link io.lambdadispatcher.test.LambdaDispatcherTest} provides one to JUnit tests.
 *   <li>{@link io.lambdadispatcher.test.ScriptedHandler} responds as a test demands, including with
 *       failures.
 *   <li>{@link io.lambdadispatcher.test.LedgerContract} tests an implementation of {@link
 *       io.lambdadispatcher.core.spi.Ledger}.
 * </ul>
 */
@NullMarked
package io.lambdadispatcher.test;

import org.jspecify.annotations.NullMarked;
