package io.lambdadispatcher.wire.testkit;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.junit.jupiter.api.Tag;

/**
 * A test whose result cannot depend on the Java release, but that takes seconds: it calculates, or
 * sends over Netty's sockets, which integration tests do on each release. CI runs it on one.
 */
@Target(ElementType.TYPE)
@Retention(RetentionPolicy.RUNTIME)
@Tag("any-release")
public @interface AnyRelease {}
