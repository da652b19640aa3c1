package io.lambdadispatcher.it.docker;

import java.util.Locale;
import org.testcontainers.utility.DockerImageName;

/**
 * Images by their role; where images can be pulled, the system property {@code it.<role>.image}
 * names another.
 */
enum Image {
    LOCALSTACK("local/localstack:4.14.0"),
    /** What LocalStack runs functions in. */
    LAMBDA("local/lambda-java:25"),
    /** The same behind Lambda's runtime interface emulator. */
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
