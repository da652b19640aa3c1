package io.lambdadispatcher.server.config;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.lambdadispatcher.core.options.AdmissionPolicy;
import io.lambdadispatcher.core.options.Priority;
import io.lambdadispatcher.core.options.RateLimit;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Settings of limits and priorities, of a function and of its routes. */
class AdmissionSettingsTest {
    private static final Map<String, String> SECRET = Map.of("LAMBDA_DISPATCHER_WORKERS_SECRET", "0123456789abcdef");

    @TempDir
    Path directory;

    private FunctionConfiguration load(String... lines) throws Exception {
        return ConfigurationLoader.load(Map.of(), write(lines), SECRET, Map.of(), List.of())
                .functions()
                .get(0);
    }

    private List<String> problems(String... lines) throws Exception {
        Path file = write(lines);
        return catchThrowableOfType(
                        ConfigurationException.class,
                        () -> ConfigurationLoader.load(Map.of(), file, SECRET, Map.of(), List.of()))
                .problems();
    }

    private Path write(String... lines) throws Exception {
        return Files.write(directory.resolve("dispatcher.yaml"), List.of(lines));
    }

    private static AdmissionPolicy admission(FunctionConfiguration function) {
        return function.options().traffic().admission();
    }

    @Test
    void should_refuse_nothing_by_default() throws Exception {
        AdmissionPolicy policy = admission(load("function.name: api"));

        assertThat(policy.hasLimits()).isFalse();
        assertThat(policy.hasPriorities()).isFalse();
        assertThat(admission(load("function.rate-limit: off")).hasLimits()).isFalse();
    }

    @Test
    void should_read_a_rate_limit() throws Exception {
        RateLimit limit = Objects.requireNonNull(admission(load("function.rate-limit: 600/m burst 50 by X-Api-Key"))
                .rateLimit());

        assertThat(limit.requests()).isEqualTo(600);
        assertThat(limit.window()).isEqualTo(Duration.ofMinutes(1));
        assertThat(limit.burst()).isEqualTo(50);
        assertThat(String.valueOf(limit.header())).isEqualTo("x-api-key");
        RateLimit ofRoute = Objects.requireNonNull(
                admission(load("function.rate-limit: 5/s by route")).rateLimit());
        assertThat(ofRoute.burst()).isEqualTo(5);
        assertThat(ofRoute.isPerRoute()).isTrue();
    }

    @Test
    void should_read_limits_of_concurrency_and_priorities() throws Exception {
        AdmissionPolicy policy = admission(load(
                "function: {max-concurrent-requests: 100, tenant-header: X-Tenant max-requests 20,",
                "  priority: sheddable by X-Priority, max-queue-delay: 2s}"));

        assertThat(policy.maxConcurrentRequests()).isEqualTo(100);
        assertThat(String.valueOf(policy.tenantHeader())).isEqualTo("x-tenant");
        assertThat(policy.maxTenantRequests()).isEqualTo(20);
        assertThat(policy.priority()).isEqualTo(Priority.SHEDDABLE);
        assertThat(String.valueOf(policy.priorityHeader())).isEqualTo("x-priority");
        assertThat(policy.maxQueueDelay()).isEqualTo(Duration.ofSeconds(2));
    }

    @Test
    void should_count_a_route_with_its_function_unless_it_has_a_limit_of_its_own() throws Exception {
        FunctionConfiguration function = load(
                "functions:",
                "- {name: api, rate-limit: 5/s}",
                "routes:",
                "- {function: api, path: /checkout, priority: critical}",
                "- {function: api, path: /search, host: example.org, rate-limit: 1/s}",
                "- {function: api, path: /health, header: 'x-probe: secret', rate-limit: off}");

        assertThat(admission(function).name()).isEqualTo("default");
        List<AdmissionPolicy> routes = function.routes().stream()
                .map(each -> each.policy().admission())
                .toList();
        assertThat(routes.get(0).name()).isEqualTo("default");
        assertThat(routes.get(0).rateLimit()).isNotNull();
        assertThat(routes.get(0).priority()).isEqualTo(Priority.CRITICAL);
        assertThat(routes.get(1).name()).isEqualTo("example.org/search");
        assertThat(routes.get(2).name()).startsWith("/health ").doesNotContain("secret", "probe");
        assertThat(routes.get(2).hasLimits()).isFalse();
    }

    @Test
    void should_refuse_values_that_contradict_each_other() throws Exception {
        assertThat(problems("function.rate-limit: 5/s burst 6"))
                .hasSize(1)
                .allMatch(each -> each.startsWith("function.rate-limit: expected off, or a number of requests per s, m,"
                        + " h or d, at most 1000000, and optionally a smaller burst"));
        assertThat(problems("function.tenant-header: x-tenant max-requests 0")).hasSize(1);
        assertThat(problems("function.priority: urgent")).hasSize(1);
        assertThat(problems("function.max-queue-delay: 2h")).hasSize(1).allMatch(each -> each.contains("at most 1h"));
        assertThat(problems("function.rate-limit: 5 per second"))
                .hasSize(1)
                .allMatch(each -> each.contains("such as 600/m"));
        assertThat(problems("function.rate-limit: 0/s")).hasSize(1);
    }
}
