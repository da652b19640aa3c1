package io.lambdadispatcher.it.docker;

import java.util.Locale;
import org.testcontainers.utility.DockerImageName;

/**
 * The images of the tests, by role. The system property {@code it.<role>.image} selects another
 * image, for machines that can pull images.
 */
enum Image {
    LOCALSTACK("local/localstack:4.14.0"),
    /** The image in which LocalStack runs functions. */
    LAMBDA("local/lambda-java:25"),
    /** The function image with Lambda's runtime interface emulator in front. */
    EMULATOR("local/lambda-rie:25"),
    DISPATCHER("local/lambda-server:test");

    private final String ours;

    Image(String ours) {
        this.ours = ours;
    }

    DockerImageName imageName() {
        return DockerImageName.parse(System.getProperty("it." + name().toLowerCase(Locale.ROOT) + ".image", ours));
    }
}
