package io.lambdadispatcher.wire.testkit;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.junit.jupiter.api.Tag;

/**
 * A unit test whose result could depend on the Java release: of threads, TLS, processes, class
 * loading, text, time zones or frameworks. CI runs it on JDK 17 and 25, and the others on JDK 17
 * only, because the integration tests run
 * nearly all of the code on JDK 25.
 */
@Target(ElementType.TYPE)
@Retention(RetentionPolicy.RUNTIME)
@Tag("each-release")
public @interface EachRelease {}
