package io.lambdadispatcher.server.launch;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import io.lambdadispatcher.aws.LambdaLauncher;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * Uses the token that Kubernetes gives to a pod whose service account has a role (IRSA). STS and
 * Lambda are on loopback. System properties stand for the environment variables of the pod.
 */
@Timeout(60)
class WebIdentityTest {
    private static final String ROLE = "arn:aws:iam::123456789012:role/dispatcher";
    private static final String STS_ANSWER = """
            <AssumeRoleWithWebIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/">
              <AssumeRoleWithWebIdentityResult>
                <Credentials>
                  <AccessKeyId>KEYOFTHEROLE</AccessKeyId>
                  <SecretAccessKey>secret</SecretAccessKey>
                  <SessionToken>session</SessionToken>
                  <Expiration>%s</Expiration>
                </Credentials>
              </AssumeRoleWithWebIdentityResult>
            </AssumeRoleWithWebIdentityResponse>
            """;

    @TempDir
    Path directory;

    private final List<String> asked = new CopyOnWriteArrayList<>();
    private final List<String> signed = new CopyOnWriteArrayList<>();
    private final List<String> properties = new ArrayList<>();
    private HttpServer server;

    @BeforeEach
    void open() throws IOException {
        server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        server.createContext("/", this::assumeRole);
        server.createContext("/2015-03-31/", this::getAlias);
        server.start();
        Path token = Files.writeString(directory.resolve("token"), "token-of-the-pod");
        Map.of(
                        "aws.webIdentityTokenFile",
                        token.toString(),
                        "aws.roleArn",
                        ROLE,
                        "aws.roleSessionName",
                        "pod",
                        "aws.region",
                        "eu-central-1",
                        "aws.endpointUrlSts",
                        endpoint().toString())
                .forEach(this::set);
    }

    private void set(String name, String value) {
        assertThat(System.setProperty(name, value)).isNull();
        properties.add(name);
    }

    @AfterEach
    void close() {
        server.stop(0);
        properties.forEach(System::clearProperty);
    }

    private URI endpoint() {
        return URI.create("http://127.0.0.1:" + server.getAddress().getPort());
    }

    private void assumeRole(HttpExchange exchange) throws IOException {
        asked.add(new String(exchange.getRequestBody().readAllBytes(), StandardCharsets.UTF_8));
        answer(exchange, STS_ANSWER.formatted(Instant.now().plusSeconds(3600)));
    }

    private void getAlias(HttpExchange exchange) throws IOException {
        signed.add(exchange.getRequestHeaders().getFirst("Authorization"));
        answer(exchange, "{\"FunctionVersion\":\"7\"}");
    }

    private static void answer(HttpExchange exchange, String text) throws IOException {
        try (exchange) {
            byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
            exchange.sendResponseHeaders(200, bytes.length);
            exchange.getResponseBody().write(bytes);
        }
    }

    @Test
    void should_sign_with_credentials_that_it_gets_for_the_token() throws Exception {
        LambdaLauncher launcher = LambdaLauncher.builder()
                .function("api", "api:live")
                .region("eu-central-1")
                .endpoint(endpoint())
                .build();
        try {
            assertThat(launcher.version("api").toCompletableFuture().get(30, TimeUnit.SECONDS))
                    .isEqualTo("7");
        } finally {
            launcher.close(Duration.ZERO);
        }

        assertThat(asked)
                .singleElement()
                .asString()
                .contains("WebIdentityToken=token-of-the-pod", "RoleSessionName=pod");
        assertThat(signed).isNotEmpty().allSatisfy(each -> assertThat(each).contains("Credential=KEYOFTHEROLE/"));
    }
}
