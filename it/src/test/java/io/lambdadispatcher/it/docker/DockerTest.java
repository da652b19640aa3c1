package io.lambdadispatcher.it.docker;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.extension.ExtendWith;

/**
 * Runs a test class only if there are a Docker engine, the images and the programs. Otherwise, it
 * is skipped with the reason, or fails if {@code IT_DOCKER=required}.
 */
@Tag("docker")
@Target(ElementType.TYPE)
@Retention(RetentionPolicy.RUNTIME)
@ExtendWith(DockerCondition.class)
@interface DockerTest {
    /** The images that the test needs. */
    Image[] value();

    /** The programs that the test needs. */
    String[] programs() default {};
}
