package io.lambdadispatcher.aws;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Runs against a metadata service on loopback. */
@Timeout(60)
class AdvertisedAddressTest {
    private static final String ECS = "ECS_CONTAINER_METADATA_URI_V4";
    private static final String KUBERNETES = "KUBERNETES_SERVICE_HOST";

    /** Long enough for the services of these tests, even on a slow machine. */
    private static final int PATIENT_MILLIS = 20_000;

    private final BlockingQueue<String> asked = new LinkedBlockingQueue<>();
    private HttpServer server;
    private URI metadata;

    @BeforeEach
    void open() throws IOException {
        server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        metadata = URI.create("http://127.0.0.1:" + server.getAddress().getPort());
        server.start();
    }

    @AfterEach
    void close() {
        server.stop(0);
    }

    private static void answer(HttpExchange exchange, int status, String text) throws IOException {
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        try (exchange) {
            exchange.sendResponseHeaders(status, bytes.length);
            exchange.getResponseBody().write(bytes);
        }
    }

    private void serve(String path, String text) {
        server.createContext(path, exchange -> {
            asked.add(exchange.getRequestMethod() + " " + path);
            answer(exchange, 200, text);
        });
    }

    /** Serves EC2's metadata: there is no address without the token. */
    private void serveEc2(String address) {
        serve("/latest/api/token", "a token");
        server.createContext("/latest/meta-data/local-ipv4", exchange -> {
            String token = exchange.getRequestHeaders().getFirst("X-aws-ec2-metadata-token");
            answer(exchange, "a token".equals(token) ? 200 : 401, address);
        });
    }

    /** Adds a context that never answers. Stopping the server closes the connection. */
    private void serveNothing(String path) {
        server.createContext(path, exchange -> asked.add(exchange.getRequestMethod() + " " + path));
    }

    private String host(Map<String, String> environment) {
        return AdvertisedAddress.find(environment, metadata, PATIENT_MILLIS).host();
    }

    private String reason(Map<String, String> environment) {
        return AdvertisedAddress.find(environment, metadata, PATIENT_MILLIS).reason();
    }

    @Test
    void should_take_what_the_environment_says_and_ask_nobody() {
        serveEc2("10.0.0.2");

        assertThat(host(Map.of(AdvertisedAddress.VARIABLE, "dispatcher.internal", ECS, metadata + "/v4/1")))
                .isEqualTo("dispatcher.internal");
        assertThat(asked).isEmpty();
    }

    @ParameterizedTest
    @CsvSource({"10.0.0.7,10.0.0.7", "' host ',host", "fd00::7,fd00::7", "[fd00::7],fd00::7"})
    void should_take_a_host_of_any_kind(String value, String host) {
        assertThat(host(Map.of(AdvertisedAddress.VARIABLE, value))).isEqualTo(host);
    }

    /** Otherwise, the host would look like an IPv6 address and get brackets. */
    @ParameterizedTest
    @ValueSource(strings = {"10.0.0.7:8444", "dispatcher.internal:8444", "[fd00::7]:8444", "http://dispatcher", ":"})
    void should_refuse_a_host_with_a_port(String value) {
        assertThatThrownBy(() -> host(Map.of(AdvertisedAddress.VARIABLE, value)))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("LAMBDA_DISPATCHER_ADVERTISED_HOST is '" + value
                        + "', expected a host name or an IP address, without a port");
    }

    @Test
    void should_ask_ecs_before_ec2() {
        serve(
                "/v4/1",
                "{\"DockerId\":\"1\",\"Networks\":[{\"NetworkMode\":\"awsvpc\",\"IPv4Addresses\":[\"10.0.0.3\"]}]}");
        serveEc2("10.0.0.2");

        assertThat(host(Map.of(ECS, metadata + "/v4/1"))).isEqualTo("10.0.0.3");
        assertThat(reason(Map.of(ECS, metadata + "/v4/1"))).contains("ECS");
    }

    @Test
    void should_go_on_to_ec2_when_ecs_has_no_address() {
        serve("/v4/1", "{\"Networks\":[{\"NetworkMode\":\"host\",\"IPv4Addresses\":[]}]}");
        serveEc2("10.0.0.2");

        assertThat(host(Map.of(ECS, metadata + "/v4/1"))).isEqualTo("10.0.0.2");
    }

    @Test
    void should_go_on_when_the_address_of_ecs_is_none() {
        serveEc2("10.0.0.2");

        assertThat(host(Map.of(ECS, "no address at all"))).isEqualTo("10.0.0.2");
        assertThat(host(Map.of(ECS, "file:/etc/hostname"))).isEqualTo("10.0.0.2");
    }

    @Test
    void should_show_ec2_the_token_it_gave() {
        serveEc2("10.0.0.2\n");

        assertThat(host(Map.of())).isEqualTo("10.0.0.2");
        assertThat(reason(Map.of())).contains("EC2");
        assertThat(asked).contains("PUT /latest/api/token");
    }

    @Test
    void should_ask_no_node_from_within_a_pod() {
        serveEc2("10.0.0.2");
        Map<String, String> pod = Map.of(KUBERNETES, "10.96.0.1", "POD_IP", "10.1.2.3");

        assertThat(host(pod)).isEqualTo("10.1.2.3");
        assertThat(reason(pod)).contains("Kubernetes");
        assertThat(asked).isEmpty();
    }

    @Test
    void should_take_no_pod_address_outside_kubernetes() {
        assertThat(reason(Map.of("POD_IP", "10.1.2.3"))).doesNotContain("Kubernetes");
    }

    @Test
    void should_go_on_when_nobody_answers_in_time() throws InterruptedException {
        serveNothing("/v4/1");
        serveNothing("/latest/api/token");
        long startNanos = System.nanoTime();

        AdvertisedAddress.Found found =
                AdvertisedAddress.find(Map.of(ECS, metadata + "/v4/1"), metadata, AdvertisedAddress.TIMEOUT_MILLIS);

        assertThat(found.reason()).contains("network interface");
        assertThat((System.nanoTime() - startNanos) / 1_000_000).isLessThan(10_000);
        // The service may notice the requests later than we time out.
        assertThat(asked.poll(10, TimeUnit.SECONDS)).isEqualTo("GET /v4/1");
        assertThat(asked.poll(10, TimeUnit.SECONDS)).isEqualTo("PUT /latest/api/token");
    }

    @Test
    void should_not_take_a_page_for_an_address() {
        serve("/latest/api/token", "a token");
        serve("/latest/meta-data/local-ipv4", "<html>sign in</html>");

        assertThat(reason(Map.of())).contains("network interface");
    }

    @Test
    void should_fall_back_on_an_interface_that_is_no_loopback() throws IOException {
        AdvertisedAddress.Found found =
                AdvertisedAddress.find(Map.of("AWS_EC2_METADATA_DISABLED", "true"), metadata, PATIENT_MILLIS);

        assertThat(InetAddress.getByName(found.host()).isLoopbackAddress()).isFalse();
        assertThat(asked).isEmpty();
    }
}
