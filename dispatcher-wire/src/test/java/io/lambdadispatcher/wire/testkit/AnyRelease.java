package io.lambdadispatcher.wire.testkit;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.junit.jupiter.api.Tag;

/**
 * A test that takes seconds, and whose result cannot depend on the Java release: it calculates, or
 * integration tests do the same on each release. CI runs it on one.
 */
@Target(ElementType.TYPE)
@Retention(RetentionPolicy.RUNTIME)
@Tag("any-release")
public @interface AnyRelease {}
