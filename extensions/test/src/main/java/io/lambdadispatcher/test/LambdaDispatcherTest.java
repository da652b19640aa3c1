package io.lambdadispatcher.test;

import io.lambdadispatcher.worker.blocking.BlockingHandler;
import io.lambdadispatcher.worker.handler.Handler;
import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.junit.jupiter.api.extension.ExtendWith;

/**
 * Gives the tests of a class a dispatcher with a worker that serves a handler, as a parameter of type {@link TestDispatcher}. It starts before
 * the first test of the class, and ends after the last.
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
 */
@Documented
@Target(ElementType.TYPE)
@Retention(RetentionPolicy.RUNTIME)
@ExtendWith(DispatcherExtension.class)
public @interface LambdaDispatcherTest {
    /** Names a {@link Handler} or a {@link BlockingHandler} with a constructor without parameters. */
    Class<?> value();
}
