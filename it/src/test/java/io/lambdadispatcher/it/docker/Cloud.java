package io.lambdadispatcher.it.docker;

import com.github.dockerjava.api.DockerClient;
import com.github.dockerjava.api.exception.ConflictException;
import com.github.dockerjava.api.exception.NotFoundException;
import com.github.dockerjava.api.model.Container;
import io.lambdadispatcher.server.demo.DemoHandler;
import java.net.URI;
import java.time.Duration;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.testcontainers.DockerClientFactory;
import org.testcontainers.localstack.LocalStackContainer;
import software.amazon.awssdk.core.SdkBytes;
import software.amazon.awssdk.http.nio.netty.NettyNioAsyncHttpClient;
import software.amazon.awssdk.regions.Region;
import software.amazon.awssdk.services.lambda.LambdaAsyncClient;
import software.amazon.awssdk.services.lambda.model.FunctionCode;
import software.amazon.awssdk.services.lambda.model.Runtime;

/** AWS in a container: LocalStack, which runs each Lambda function in a separate container. */
final class Cloud implements AutoCloseable {
    static final String REGION = "us-east-1";
    /** The name of this machine in function containers. */
    static final String HOST = "host.docker.internal";

    /**
     * The class that Lambda calls. It runs the handler that {@code LAMBDA_DISPATCHER_HANDLER}
     * names.
     */
    static final String WORKER = "io.lambdadispatcher.worker.LambdaHandler";

    private final LocalStackContainer localStack;
    private final LambdaAsyncClient lambda;

    private Cloud() {
        // For the SDK's default chain. LocalStack accepts any values.
        System.setProperty("aws.accessKeyId", "test");
        System.setProperty("aws.secretAccessKey", "test");
        localStack = new LocalStackContainer(
                        Image.LOCALSTACK.imageName().asCompatibleSubstituteFor("localstack/localstack"))
                .withServices("lambda", "s3", "sqs", "iam", "sts", "logs", "cloudformation", "ec2")
                .withEnv(
                        "LAMBDA_RUNTIME_IMAGE_MAPPING",
                        "{\"java25\":\"" + Image.LAMBDA.imageName().asCanonicalNameString() + "\"}")
                .withEnv("LAMBDA_DOCKER_FLAGS", "--add-host " + HOST + ":host-gateway")
                .withEnv("LAMBDA_REMOVE_CONTAINERS", "1")
                .withEnv("LAMBDA_RUNTIME_ENVIRONMENT_TIMEOUT", "120")
                .withStartupTimeout(Duration.ofMinutes(5));
        localStack.start();
        lambda = LambdaAsyncClient.builder()
                // The timeout is long because a retry would fail: the function would exist already.
                .httpClientBuilder(NettyNioAsyncHttpClient.builder().readTimeout(Duration.ofMinutes(3)))
                .endpointOverride(endpoint())
                .region(Region.of(REGION))
                .build();
    }

    static Cloud start() {
        return new Cloud();
    }

    URI endpoint() {
        return localStack.getEndpoint();
    }

    LocalStackContainer container() {
        return localStack;
    }

    LambdaAsyncClient lambda() {
        return lambda;
    }

    /** Creates a function that serves the demo's routes. */
    void createWorkerFunction(String name, Duration timeout) {
        createFunction(name, timeout, WORKER, Map.of("LAMBDA_DISPATCHER_HANDLER", DemoHandler.class.getName()));
    }

    /** Creates a function whose code is the worker and the demo's handler. */
    void createFunction(String name, Duration timeout, String handler, Map<String, String> variables) {
        createFunction(name, timeout, handler, variables, FunctionArchive.withDemo());
    }

    /** @param code from {@link FunctionArchive} */
    void createFunction(String name, Duration timeout, String handler, Map<String, String> variables, SdkBytes code) {
        Map<String, String> environment = new HashMap<>(variables);
        environment.put("JAVA_HEAP", "-Xmx128m");
        lambda.createFunction(create -> create.functionName(name)
                        .runtime(Runtime.fromValue("java25"))
                        .handler(handler)
                        .role("arn:aws:iam::000000000000:role/worker")
                        .timeout((int) timeout.toSeconds())
                        .memorySize(512)
                        .environment(variable -> variable.variables(environment))
                        .code(FunctionCode.builder().zipFile(code).build()))
                .join();
        lambda.waiter().waitUntilFunctionActiveV2(get -> get.functionName(name)).join();
    }

    void deleteFunction(String name) {
        lambda.deleteFunction(delete -> delete.functionName(name)).join();
    }

    /**
     * Returns ids of the function's containers. LocalStack derives their names from the function.
     */
    static List<String> containersOf(String function) {
        return DockerClientFactory.lazyClient().listContainersCmd().exec().stream()
                .filter(container -> Arrays.stream(container.getNames())
                        .anyMatch(name -> name.contains("-lambda-" + function.toLowerCase(Locale.ROOT) + "-")))
                .map(Container::getId)
                .toList();
    }

    /**
     * Also removes the containers of functions, which remain after LocalStack is killed. The
     * following tests need the memory.
     */
    @Override
    public void close() {
        String named = localStack.getContainerName().replace('_', '-') + "-lambda-";
        lambda.close();
        localStack.stop();
        DockerClient docker = DockerClientFactory.lazyClient();
        docker.listContainersCmd().withShowAll(true).exec().stream()
                .filter(container -> Arrays.stream(container.getNames()).anyMatch(name -> name.startsWith(named)))
                .forEach(container -> remove(docker, container));
    }

    private static void remove(DockerClient docker, Container container) {
        try {
            docker.removeContainerCmd(container.getId()).withForce(true).exec();
        } catch (NotFoundException | ConflictException e) {
            // The container is already being removed.
        }
    }
}
