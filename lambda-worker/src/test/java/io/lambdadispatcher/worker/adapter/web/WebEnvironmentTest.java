package io.lambdadispatcher.worker.adapter.web;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.lambdadispatcher.worker.adapter.web.WebConfig.AppProtocol;
import io.lambdadispatcher.worker.adapter.web.WebConfig.Probe;
import java.net.ServerSocket;
import java.time.Duration;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class WebEnvironmentTest {
    @Test
    void should_have_the_adapters_defaults() {
        WebConfig config = WebEnvironment.read(Map.of());
        assertThat(config.address.getPort()).isEqualTo(8080);
        assertThat(config.address.getHostString()).isEqualTo("127.0.0.1");
        assertThat(config.protocol).isEqualTo(AppProtocol.HTTP1);
        assertThat(config.basePath).isEmpty();
        assertThat(config.passThroughPath).isEqualTo("/events");
        assertThat(config.drainPath).isNull();
        ReadinessCheck check = config.readiness;
        assertThat(check.port()).isEqualTo(8080);
        assertThat(check.path()).isEqualTo("/");
        assertThat(check.probe()).isEqualTo(Probe.HTTP);
        assertThat(check.interval()).isEqualTo(Duration.ofMillis(10));
        assertThat(check.healthy().contains(499)).isTrue();
        assertThat(check.healthy().contains(500)).isFalse();
    }

    @Test
    void should_take_the_adapters_variables() {
        WebConfig config = WebEnvironment.read(Map.of(
                "AWS_LWA_PORT", "7000",
                "AWS_LWA_READINESS_CHECK_PORT", "7001",
                "AWS_LWA_READINESS_CHECK_PATH", "/health",
                "AWS_LWA_READINESS_CHECK_PROTOCOL", "TCP",
                "AWS_LWA_READINESS_CHECK_HEALTHY_STATUS", "200, 301-399",
                "AWS_LWA_REMOVE_BASE_PATH", "/orders/",
                "AWS_LWA_PASS_THROUGH_PATH", "/queue",
                "AWS_LWA_AUTHORIZATION_SOURCE", "X-Auth",
                "AWS_LWA_ERROR_STATUS_CODES", "500,502-504",
                "AWS_LWA_INVOKE_MODE", "response_stream"));
        assertThat(config.address.getPort()).isEqualTo(7000);
        assertThat(config.basePath).isEqualTo("/orders");
        assertThat(config.passThroughPath).isEqualTo("/queue");
        assertThat(String.valueOf(config.authorizationSource)).isEqualTo("x-auth");
        assertThat(config.errorStatusCodes.contains(503)).isTrue();
        assertThat(config.errorStatusCodes.contains(501)).isFalse();
        ReadinessCheck check = config.readiness;
        assertThat(check.port()).isEqualTo(7001);
        assertThat(check.path()).isEqualTo("/health");
        assertThat(check.probe()).isEqualTo(Probe.TCP);
        assertThat(check.healthy().contains(350)).isTrue();
        assertThat(check.healthy().contains(300)).isFalse();
    }

    @Test
    void should_take_the_adapters_variables_of_old() {
        WebConfig config = WebEnvironment.read(Map.of(
                "PORT", "7000",
                "READINESS_CHECK_PATH", "/old",
                "READINESS_CHECK_PORT", "7002",
                "REMOVE_BASE_PATH", "v1",
                "AWS_LWA_READINESS_CHECK_MIN_UNHEALTHY_STATUS", "400"));
        assertThat(config.address.getPort()).isEqualTo(7000);
        assertThat(config.readiness.path()).isEqualTo("/old");
        assertThat(config.readiness.port()).isEqualTo(7002);
        assertThat(config.basePath).isEqualTo("/v1");
        assertThat(config.readiness.healthy().contains(399)).isTrue();
        assertThat(config.readiness.healthy().contains(400)).isFalse();
    }

    @ParameterizedTest
    @CsvSource({"0.001, 1", "0.5, 500", "4, 4000", "1e2, 100000", "2147483, 2147483000"})
    void should_take_the_adapters_times_in_seconds(String seconds, long millis) {
        WebConfig config = WebEnvironment.read(Map.of(
                "AWS_LWA_POOL_IDLE_TIMEOUT_SECONDS", seconds, "AWS_LWA_READINESS_CHECK_TIMEOUT_SECONDS", seconds));
        assertThat(config.idleLimit).isEqualTo(Duration.ofMillis(millis));
        assertThat(config.readiness.limit()).isEqualTo(Duration.ofMillis(millis));
    }

    @Test
    void should_prefer_its_own_times() {
        WebConfig config = WebEnvironment.read(Map.of(
                "LAMBDA_DISPATCHER_WEB_IDLE_MILLIS", "250",
                "AWS_LWA_POOL_IDLE_TIMEOUT_SECONDS", "9",
                "LAMBDA_DISPATCHER_WEB_READINESS_LIMIT_MILLIS", "5000",
                "AWS_LWA_READINESS_CHECK_TIMEOUT_SECONDS", "9"));
        assertThat(config.idleLimit).isEqualTo(Duration.ofMillis(250));
        assertThat(config.readiness.limit()).isEqualTo(Duration.ofSeconds(5));
    }

    @Test
    void should_prefer_its_own_names() {
        WebConfig config = WebEnvironment.read(Map.of(
                "LAMBDA_DISPATCHER_WEB_PORT", "9000",
                "AWS_LWA_PORT", "7000",
                "PORT", "7001",
                "LAMBDA_DISPATCHER_WEB_PROTOCOL", "h2c",
                "LAMBDA_DISPATCHER_WEB_COMMAND", "node app.js",
                "LAMBDA_DISPATCHER_WEB_IDLE_MILLIS", "250",
                "LAMBDA_DISPATCHER_WEB_DRAIN_PATH", "/going",
                "LAMBDA_DISPATCHER_WEB_READINESS_LIMIT_MILLIS", "5000"));
        assertThat(config.address.getPort()).isEqualTo(9000);
        assertThat(config.protocol).isEqualTo(AppProtocol.H2C);
        assertThat(config.readiness.probe()).isEqualTo(Probe.TCP);
        assertThat(config.readiness.limit()).isEqualTo(Duration.ofSeconds(5));
        assertThat(config.command).isEqualTo("node app.js");
        assertThat(config.drainPath).isEqualTo("/going");
        assertThat(config.idleLimit).isEqualTo(Duration.ofMillis(250));
    }

    @Test
    void should_name_the_variable_that_cannot_be_used() {
        String[][] bad = {
            {"LAMBDA_DISPATCHER_WEB_PORT", "0"},
            {"LAMBDA_DISPATCHER_WEB_PORT", "http"},
            {"LAMBDA_DISPATCHER_WEB_PROTOCOL", "h3"},
            {"LAMBDA_DISPATCHER_WEB_READINESS_PROTOCOL", "udp"},
            {"LAMBDA_DISPATCHER_WEB_IDLE_MILLIS", "-1"},
            {"LAMBDA_DISPATCHER_WEB_DRAIN_PATH", "going"},
            {"LAMBDA_DISPATCHER_WEB_ERROR_STATUS_CODES", "2xx"},
            {"AWS_LWA_PORT", "x"},
            {"PORT", "70000"},
            {"AWS_LWA_READINESS_CHECK_PROTOCOL", "udp"},
            {"AWS_LWA_READINESS_CHECK_HEALTHY_STATUS", "2xx"},
            {"READINESS_CHECK_MIN_UNHEALTHY_STATUS", "0"},
            {"LAMBDA_DISPATCHER_WEB_HOST", "[nowhere"},
            {"LAMBDA_DISPATCHER_WEB_EVENT_PATH", "events"},
            {"AWS_LWA_READINESS_CHECK_PATH", "health"},
            {"AWS_LWA_READINESS_CHECK_TIMEOUT_SECONDS", "-1"},
            {"AWS_LWA_READINESS_CHECK_TIMEOUT_SECONDS", "NaN"},
            {"AWS_LWA_POOL_IDLE_TIMEOUT_SECONDS", "4s"},
            {"AWS_LWA_POOL_IDLE_TIMEOUT_SECONDS", "2147484"}
        };
        for (String[] variable : bad) {
            assertThatThrownBy(() -> WebEnvironment.read(Map.of(variable[0], variable[1])))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageStartingWith(variable[0] + " is ")
                    .hasMessageContaining("'" + variable[1] + "'");
        }
        for (String codes : new String[] {"", "99", "1000", "a", "300-200", "1-2-3", "200,"}) {
            assertThatThrownBy(() -> StatusCodes.parse(codes)).isInstanceOf(IllegalArgumentException.class);
        }
    }

    @Test
    void should_choose_a_free_port() throws Exception {
        for (String name : new String[] {"LAMBDA_DISPATCHER_WEB_PORT", "AWS_LWA_PORT", "PORT"}) {
            WebConfig config = WebEnvironment.read(Map.of(name, "0", "LAMBDA_DISPATCHER_WEB_COMMAND", "x"));
            int port = config.address.getPort();
            assertThat(port).isBetween(10_000, 29_999);
            assertThat(config.readiness.port()).isEqualTo(port);
            new ServerSocket(port, 1, config.address.getAddress()).close();
        }
    }

    /** Workers that start together choose a port before the application of another one listens. */
    @Test
    void should_seldom_choose_the_port_of_another_worker() {
        Map<String, String> variables = Map.of("LAMBDA_DISPATCHER_WEB_PORT", "0", "LAMBDA_DISPATCHER_WEB_COMMAND", "x");
        Set<Integer> ports = new HashSet<>();
        for (int i = 0; i < 20; i++) {
            ports.add(WebEnvironment.read(variables).address.getPort());
        }
        assertThat(ports).hasSizeGreaterThan(15);
    }

    @Test
    void should_need_a_command_for_a_free_port() {
        assertThatThrownBy(() -> WebEnvironment.read(Map.of("LAMBDA_DISPATCHER_WEB_PORT", "0")))
                .hasMessage("LAMBDA_DISPATCHER_WEB_PORT is '0', expected a number, 1 to 65535, or 0 together with"
                        + " LAMBDA_DISPATCHER_WEB_COMMAND");
    }

    @Test
    void should_be_chosen_by_a_port_or_a_command() {
        assertThat(WebEnvironment.chosenBy(Map.of("LAMBDA_DISPATCHER_WEB_PORT", "1")))
                .isEqualTo("LAMBDA_DISPATCHER_WEB_PORT");
        assertThat(WebEnvironment.chosenBy(Map.of("AWS_LWA_PORT", "1"))).isEqualTo("AWS_LWA_PORT");
        assertThat(WebEnvironment.chosenBy(Map.of("LAMBDA_DISPATCHER_WEB_COMMAND", "x")))
                .isEqualTo("LAMBDA_DISPATCHER_WEB_COMMAND");
        assertThat(WebEnvironment.chosenBy(Map.of("PORT", "1"))).isNull();
        assertThat(WebEnvironment.isPortGiven(Map.of("PORT", "1"))).isTrue();
    }

    @Test
    void should_compress_if_the_adapters_variable_says_so() {
        assertThat(WebEnvironment.read(Map.of()).compression).isFalse();
        assertThat(WebEnvironment.read(Map.of("AWS_LWA_ENABLE_COMPRESSION", "true")).compression)
                .isTrue();
        assertThat(WebEnvironment.read(Map.of("AWS_LWA_ENABLE_COMPRESSION", "1")).compression)
                .isFalse();
        assertThat(WebEnvironment.read(
                                Map.of("AWS_LWA_ENABLE_COMPRESSION", "true", "AWS_LWA_INVOKE_MODE", "RESPONSE_STREAM"))
                        .compression)
                .isFalse();
        assertThat(WebEnvironment.read(Map.of(
                                "LAMBDA_DISPATCHER_WEB_COMPRESSION", "true", "AWS_LWA_INVOKE_MODE", "response_stream"))
                        .compression)
                .isTrue();
        assertThatThrownBy(() -> WebEnvironment.read(Map.of("LAMBDA_DISPATCHER_WEB_COMPRESSION", "gzip")))
                .hasMessage("LAMBDA_DISPATCHER_WEB_COMPRESSION is 'gzip', expected true or false");
    }
}
