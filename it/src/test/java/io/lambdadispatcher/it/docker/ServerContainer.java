package io.lambdadispatcher.it.docker;

import com.github.dockerjava.api.model.ExposedPort;
import io.lambdadispatcher.server.demo.DemoHandler;
import java.net.URI;
import java.time.Duration;
import org.testcontainers.containers.GenericContainer;
import org.testcontainers.containers.wait.strategy.Wait;

/** A container of the dispatcher's image, run as a user would. */
final class ServerContainer extends GenericContainer<ServerContainer> {
    static final String SECRET = "a secret of the container tests";
    private static final int PUBLIC_PORT = 8080;
    private static final int ADMIN_PORT = 9901;

    private ServerContainer() {
        super(Image.DISPATCHER.imageName());
        withExposedPorts(PUBLIC_PORT, ADMIN_PORT);
        withEnv("LAMBDA_DISPATCHER_ADMIN_PORT", "0.0.0.0:" + ADMIN_PORT);
        withEnv("LAMBDA_DISPATCHER_WORKERS_SECRET", SECRET);
        withEnv("LAMBDA_DISPATCHER_WORKERS_KEEPALIVE", "1s timeout 6s");
        waitingFor(Wait.forHttp("/ready").forPort(ADMIN_PORT).withStartupTimeout(Duration.ofMinutes(3)));
    }

    /** Runs two workers with the demo's handler in the same container. */
    static ServerContainer withLocalWorkers() {
        return new ServerContainer()
                .withEnv("LAMBDA_DISPATCHER_FUNCTION_LAUNCHER", "local")
                .withEnv("LAMBDA_DISPATCHER_FUNCTION_MIN_WORKERS", "2")
                .withEnv("LAMBDA_DISPATCHER_FUNCTION_MAX_WORKERS", "2")
                .withEnv("LAMBDA_DISPATCHER_FUNCTION_HANDLER", DemoHandler.class.getName());
    }

    /**
     * Launches {@code workers} of a function in the cloud. They connect to the dispatcher by its
     * address on Docker's network.
     */
    static ServerContainer withLambda(Cloud cloud, String function, int workers) {
        return new ServerContainer()
                .withEnv("LAMBDA_DISPATCHER_FUNCTION_NAME", function)
                .withEnv("LAMBDA_DISPATCHER_FUNCTION_LAUNCHER", "lambda")
                .withEnv("LAMBDA_DISPATCHER_FUNCTION_MIN_WORKERS", Integer.toString(workers))
                .withEnv("LAMBDA_DISPATCHER_FUNCTION_MAX_WORKERS", Integer.toString(workers))
                .withEnv("LAMBDA_DISPATCHER_FUNCTION_WORKER_CONCURRENCY", "10")
                .withEnv("LAMBDA_DISPATCHER_FUNCTION_LAUNCH_TIMEOUT", "90s")
                .withEnv("LAMBDA_DISPATCHER_AWS_ENDPOINT", "http://" + address(cloud.container()) + ":4566")
                .withEnv("LAMBDA_DISPATCHER_AWS_REGION", Cloud.REGION)
                .withEnv("AWS_EC2_METADATA_DISABLED", "true")
                .withEnv("AWS_ACCESS_KEY_ID", "test")
                .withEnv("AWS_SECRET_ACCESS_KEY", "test");
    }

    /** Returns the address on Docker's default network. */
    static String address(GenericContainer<?> container) {
        return container.getCurrentContainerInfo().getNetworkSettings().getNetworks().values().stream()
                .findFirst()
                .orElseThrow()
                .getIpAddress();
    }

    URI uri(String path) {
        return URI.create("http://" + getHost() + ":" + hostPort(PUBLIC_PORT) + path);
    }

    URI admin(String path) {
        return URI.create("http://" + getHost() + ":" + hostPort(ADMIN_PORT) + path);
    }

    /** Is looked up each time, because a restarted container has other ports. */
    private String hostPort(int port) {
        return getDockerClient()
                .inspectContainerCmd(getContainerId())
                .exec()
                .getNetworkSettings()
                .getPorts()
                .getBindings()
                .get(ExposedPort.tcp(port))[0]
                .getHostPortSpec();
    }

    /** Runs {@code docker stop}: SIGTERM, and after the timeout SIGKILL. @return the exit code */
    int stopGracefully(Duration time) {
        getDockerClient()
                .stopContainerCmd(getContainerId())
                .withTimeout((int) time.toSeconds())
                .exec();
        Long code = getDockerClient()
                .inspectContainerCmd(getContainerId())
                .exec()
                .getState()
                .getExitCodeLong();
        return code == null ? -1 : code.intValue();
    }

    /** Sends SIGKILL. */
    void kill() {
        getDockerClient().killContainerCmd(getContainerId()).exec();
    }

    /** Starts the container again after {@link #kill}. */
    void startAgain() {
        getDockerClient().startContainerCmd(getContainerId()).exec();
    }
}
