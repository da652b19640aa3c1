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

/** AWS in a container: LocalStack, which runs Lambda functions in containers of their own. */
final class Cloud implements AutoCloseable {
    static final String REGION = "us-east-1";
    /** How function containers call the machine that the tests run on. */
    static final String HOST = "host.docker.internal";

    /** The class that Lambda calls; it serves with what {@code LAMBDA_DISPATCHER_HANDLER} names. */
    static final String WORKER = "io.lambdadispatcher.worker.LambdaHandler";

    private final LocalStackContainer localStack;
    private final LambdaAsyncClient lambda;

    private Cloud() {
        // The SDK's default chain finds them; LocalStack takes any.
        System.setProperty("aws.accessKeyId", "test");
        System.setProperty("aws.secretAccessKey", "test");
        localStack = new LocalStackContainer(
                        Image.LOCALSTACK.imageName().asCompatibleSubstituteFor("localstack/localstack"))
                .withServices("lambda", "s3", "sqs", "iam", "sts", "logs")
                .withEnv(
                        "LAMBDA_RUNTIME_IMAGE_MAPPING",
                        "{\"java25\":\"" + Image.LAMBDA.imageName().asCanonicalNameString() + "\"}")
                .withEnv("LAMBDA_DOCKER_FLAGS", "--add-host " + HOST + ":host-gateway")
                .withEnv("LAMBDA_REMOVE_CONTAINERS", "1")
                .withEnv("LAMBDA_RUNTIME_ENVIRONMENT_TIMEOUT", "120")
                .withStartupTimeout(Duration.ofMinutes(5));
        localStack.start();
        lambda = LambdaAsyncClient.builder()
                // Asked again, LocalStack would say that the function is there already.
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

    /** A function that serves the demo's routes. */
    void createWorkerFunction(String name, Duration timeout) {
        createFunction(name, timeout, WORKER, Map.of("LAMBDA_DISPATCHER_HANDLER", DemoHandler.class.getName()));
    }

    /** A function whose code is the worker and the demo's handler. */
    void createFunction(String name, Duration timeout, String handler, Map<String, String> variables) {
        createFunction(name, timeout, handler, variables, FunctionArchive.withDemo());
    }

    /** @param code what {@link FunctionArchive} makes */
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

    /** Ids of the containers that a function runs in now. LocalStack names them after it. */
    static List<String> containersOf(String function) {
        return DockerClientFactory.lazyClient().listContainersCmd().exec().stream()
                .filter(container -> Arrays.stream(container.getNames())
                        .anyMatch(name -> name.contains("-lambda-" + function.toLowerCase(Locale.ROOT) + "-")))
                .map(Container::getId)
                .toList();
    }

    /**
     * With the containers of its functions, which LocalStack, when killed, leaves behind: the tests
     * that follow need the memory.
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
            // It goes by itself.
        }
    }
}
