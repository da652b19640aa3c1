package io.lambdadispatcher.it.docker;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.extension.ExtendWith;

/**
 * Runs where a Docker engine and the images are; elsewhere it is skipped and says why, or fails if
 * {@code IT_DOCKER=required}.
 */
@Tag("docker")
@Target(ElementType.TYPE)
@Retention(RetentionPolicy.RUNTIME)
@ExtendWith(DockerCondition.class)
@interface DockerTest {
    /** Images that it needs. */
    Image[] value();
}
