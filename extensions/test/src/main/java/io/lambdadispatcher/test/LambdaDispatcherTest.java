package io.lambdadispatcher.test;

import io.lambdadispatcher.worker.blocking.BlockingHandler;
import io.lambdadispatcher.worker.handler.Handler;
import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Inherited;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.junit.jupiter.api.extension.ExtendWith;

/**
 * Provides the tests of a class with a dispatcher and a worker that serves a handler, as a
 * parameter of type {@link TestDispatcher}. It starts when a test or a lifecycle method first asks
 * for it, and ends after the last test of the class. Nested classes share it. Subclasses have their
 * own, with the same handler.
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
@Inherited
@Target(ElementType.TYPE)
@Retention(RetentionPolicy.RUNTIME)
@ExtendWith(DispatcherExtension.class)
public @interface LambdaDispatcherTest {
    /**
     * Returns the class of the handler. It implements {@link Handler} or {@link BlockingHandler},
     * and has a constructor without parameters, which may be private.
     */
    Class<?> value();
}
