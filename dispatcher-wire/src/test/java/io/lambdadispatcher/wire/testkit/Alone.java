package io.lambdadispatcher.wire.testkit;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.junit.jupiter.api.Tag;

/**
 * An integration test that runs while no other does. All others run concurrently, in several JVMs.
 */
@Target({ElementType.TYPE, ElementType.METHOD})
@Retention(RetentionPolicy.RUNTIME)
@Tag("alone")
public @interface Alone {
    /** Returns why the test cannot run beside others. */
    String value();
}
