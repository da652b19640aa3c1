package io.lambdadispatcher.spring.burst;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.slf4j.LoggerFactory;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.context.logging.LoggingApplicationListener;
import org.springframework.boot.context.properties.bind.BindException;
import org.springframework.boot.diagnostics.FailureAnalysis;
import org.springframework.boot.test.context.FilteredClassLoader;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.core.env.ConfigurableEnvironment;
import org.springframework.core.env.MapPropertySource;
import org.springframework.core.env.StandardEnvironment;

/** The role of a process, and the properties that follow from it. */
class BurstEnvironmentTest {
    private final Map<String, Object> variables = new HashMap<>();

    private ConfigurableEnvironment prepared(String... properties) {
        Map<String, Object> values = new LinkedHashMap<>();
        for (String each : properties) {
            String[] pair = each.split("=", 2);
            values.put(pair[0], pair[1]);
        }
        ConfigurableEnvironment environment = environment();
        environment.getPropertySources().addFirst(new MapPropertySource("application.yaml", values));
        BurstEnvironment.prepare(environment);
        return environment;
    }

    private ConfigurableEnvironment environment() {
        return new StandardEnvironment() {
            @Override
            public Map<String, Object> getSystemEnvironment() {
                return variables;
            }
        };
    }

    private static void assertProperties(ConfigurableEnvironment environment, String... expected) {
        for (String each : expected) {
            String[] pair = each.split("=", 2);
            assertThat(environment.getProperty(pair[0], "not set")).as(pair[0]).isEqualTo(pair[1]);
        }
    }

    @Test
    void should_put_the_dispatcher_on_the_port_of_the_application() {
        ConfigurableEnvironment environment = prepared(
                "lambda-dispatcher.burst.function=shop:live",
                "lambda-dispatcher.burst.base-concurrency=7",
                "lambda-dispatcher.burst.max-workers=5",
                "spring.application.name=shop",
                "server.port=9000",
                "server.address=10.0.0.7",
                "management.server.port=9001");
        assertProperties(
                environment,
                "lambda-dispatcher.burst.role=base",
                "lambda-dispatcher.public.plain.port=9000",
                "lambda-dispatcher.public.plain.host=10.0.0.7",
                "server.port=0",
                "server.address=127.0.0.1",
                "management.server.port=9001",
                "management.server.address=10.0.0.7",
                "lambda-dispatcher.function.name=shop",
                "lambda-dispatcher.function.lambda=shop:live",
                "lambda-dispatcher.function.max-workers=5",
                "lambda-dispatcher.workers.host=not set",
                "lambda-dispatcher.worker.addresses=127.0.0.1:8444",
                "lambda-dispatcher.worker.function=shop",
                "lambda-dispatcher.worker.streams=7");
        assertThat(environment.getProperty("lambda-dispatcher.worker.secret"))
                .hasSize(64)
                .isEqualTo(environment.getProperty("lambda-dispatcher.workers.secret"));
    }

    @Test
    void should_have_defaults_for_all_but_the_function() {
        assertProperties(
                prepared("lambda-dispatcher.burst.function=local"),
                "lambda-dispatcher.public.plain.port=8080",
                "lambda-dispatcher.public.plain.host=0.0.0.0",
                "lambda-dispatcher.function.name=application",
                "lambda-dispatcher.function.lambda=not set",
                "lambda-dispatcher.function.max-workers=10",
                "lambda-dispatcher.workers.host=127.0.0.1",
                "lambda-dispatcher.worker.streams=100",
                "management.server.address=not set",
                "server.forward-headers-strategy=native");
    }

    /** Several processes of one machine would write to it. */
    @ParameterizedTest
    @CsvSource({"LAMBDA_DISPATCHER_PAYLOAD, false", "OTHER, true"})
    void should_give_only_the_base_a_log_file(String variable, boolean expected, @TempDir Path directory) {
        variables.put(variable, "{}");
        variables.put("LOGGING_FILE_PATH", directory.toString());
        SpringApplication application = new SpringApplication(BurstEnvironmentTest.class);
        application.setWebApplicationType(WebApplicationType.NONE);
        application.setEnvironment(environment());
        try (ConfigurableApplicationContext context =
                application.run("--logging.file.name=" + directory.resolve("app.log"))) {
            assertThat(context.containsBean(LoggingApplicationListener.LOG_FILE_BEAN_NAME))
                    .isEqualTo(expected);
        }
    }

    /** What waits in the web server cannot go to a launched worker. */
    @ParameterizedTest
    @CsvSource({
        "server.tomcat.threads.max=20, any=any, 20",
        "server.jetty.threads.max=20, any=any, 20",
        "server.undertow.threads.worker=20, any=any, 20",
        "server.tomcat.threads.max=200, any=any, 100",
        "server.tomcat.threads.max=20, lambda-dispatcher.burst.base-concurrency=50, 50",
        "server.tomcat.max-connections=20, any=any, 20",
        "server.jetty.max-connections=20, any=any, 20",
        "server.tomcat.max-connections=20, server.tomcat.threads.max=30, 20",
        "server.tomcat.max-connections=20, spring.threads.virtual.enabled=true, 20",
        "server.jetty.max-connections=-1, server.tomcat.threads.max=0, 100",
    })
    void should_take_as_many_requests_as_the_web_server(String limit, String more, String concurrency) {
        assertConcurrency(concurrency, limit, more);
    }

    private void assertConcurrency(String expected, String... properties) {
        List<String> all = new ArrayList<>(List.of(properties));
        all.add("lambda-dispatcher.burst.function=local");
        assertProperties(
                prepared(all.toArray(String[]::new)),
                "lambda-dispatcher.worker.streams=" + expected,
                "lambda-dispatcher.burst.base-concurrency=" + expected);
    }

    /** Before Java 21, Spring Boot ignores the property. */
    @ParameterizedTest
    @CsvSource({"server.tomcat.threads.max", "server.jetty.threads.max", "server.undertow.threads.worker"})
    void should_ignore_the_threads_if_they_are_virtual(String threads) {
        String expected = Runtime.version().feature() < 21 ? "20" : "100";
        assertConcurrency(expected, threads + "=20", "spring.threads.virtual.enabled=true");
    }

    /** In this test, the class path has a class with the name of Undertow's. */
    @Test
    void should_know_how_many_threads_undertow_has() {
        Thread thread = Thread.currentThread();
        ClassLoader all = thread.getContextClassLoader();
        String threads = String.valueOf(
                Math.min(100, 8 * Math.max(2, Runtime.getRuntime().availableProcessors())));
        assertConcurrency("100");
        try {
            thread.setContextClassLoader(new FilteredClassLoader("org.apache.catalina"));
            assertConcurrency(threads);
            assertConcurrency("90", "server.undertow.threads.worker=90");
        } finally {
            thread.setContextClassLoader(all);
        }
    }

    @Test
    void should_serve_https_on_the_port_of_the_application() {
        assertProperties(
                prepared(
                        "lambda-dispatcher.burst.function=local",
                        "lambda-dispatcher.public.tls.certificate=server.pem",
                        "server.port=8443"),
                "lambda-dispatcher.public.tls.port=8443",
                "lambda-dispatcher.public.tls.host=0.0.0.0",
                "lambda-dispatcher.public.plain.port=not set");
    }

    @Test
    void should_obey_the_properties_of_the_other_starters() {
        assertProperties(
                prepared(
                        "lambda-dispatcher.burst.function=local",
                        "lambda-dispatcher.workers.port=8555",
                        "lambda-dispatcher.workers.host=10.0.0.7",
                        "lambda-dispatcher.workers.secret=a secret for tests only"),
                "lambda-dispatcher.worker.addresses=10.0.0.7:8555",
                "lambda-dispatcher.worker.secret=a secret for tests only");
    }

    /** YAML reads an unquoted off as false. The dispatcher names a file that it cannot read. */
    @ParameterizedTest
    @CsvSource({
        "off, any=any, false, not set",
        "false, any=any, false, not set",
        "off, lambda-dispatcher.worker.tls=true, true, not set",
        "none.pem, any=any, not set, not set",
        "none.pem, lambda-dispatcher.worker.tls-fingerprint=00, not set, 00",
    })
    void should_let_the_worker_of_the_base_accept_the_worker_port(
            String certificate, String more, String tls, String fingerprint) {
        assertProperties(
                prepared(
                        "lambda-dispatcher.burst.function=local",
                        "lambda-dispatcher.workers.tls.certificate=" + certificate,
                        more),
                "lambda-dispatcher.worker.tls=" + tls,
                "lambda-dispatcher.worker.tls-fingerprint=" + fingerprint);
    }

    @ParameterizedTest
    @CsvSource({"LAMBDA_DISPATCHER_PAYLOAD", "AWS_LAMBDA_RUNTIME_API"})
    void should_be_a_worker_without_a_dispatcher_if_it_was_launched(String variable) {
        variables.put(variable, "any");
        assertProperties(
                prepared("lambda-dispatcher.burst.function=shop", "server.port=9000", "management.server.port=9001"),
                "lambda-dispatcher.burst.role=worker",
                "lambda-dispatcher.enabled=false",
                "lambda-dispatcher.function.name=not set",
                "lambda-dispatcher.worker.addresses=not set",
                "server.port=0",
                "server.address=127.0.0.1",
                "server.forward-headers-strategy=native",
                "management.server.port=0",
                "management.server.address=127.0.0.1");
    }

    @Test
    void should_open_no_management_port_in_a_worker_if_the_base_has_none() {
        variables.put("LAMBDA_DISPATCHER_PAYLOAD", "any");
        assertProperties(
                prepared("lambda-dispatcher.burst.function=shop", "management.server.port=-1"),
                "management.server.port=-1",
                "management.server.address=not set");
    }

    @ParameterizedTest
    @CsvSource({"none, native, false", "native, native, true", "framework, framework, true", ", native, false"})
    void should_trust_the_proxy_that_the_application_has_trusted(String before, String after, boolean trusts) {
        ConfigurableEnvironment environment = before == null
                ? prepared("lambda-dispatcher.burst.function=local")
                : prepared("lambda-dispatcher.burst.function=local", "server.forward-headers-strategy=" + before);
        assertProperties(
                environment,
                "server.forward-headers-strategy=" + after,
                "lambda-dispatcher.burst.behind-proxy=" + trusts);
    }

    /** Tomcat believed only peers with private addresses, and the dispatcher would believe all. */
    @Test
    void should_trust_no_proxy_of_a_platform_unless_it_is_told() {
        ListAppender<ILoggingEvent> log = new ListAppender<>();
        log.start();
        Logger logger = (Logger) LoggerFactory.getLogger(BurstEnvironment.class);
        logger.setLevel(Level.INFO);
        logger.addAppender(log);
        try {
            assertProperties(
                    prepared("lambda-dispatcher.burst.function=local", "spring.main.cloud-platform=kubernetes"),
                    "lambda-dispatcher.burst.behind-proxy=false");
            assertThat(log.list)
                    .singleElement()
                    .extracting(ILoggingEvent::getFormattedMessage)
                    .isEqualTo("The dispatcher trusts no proxy. If all clients connect through a proxy of KUBERNETES,"
                            + " set server.forward-headers-strategy to native");
        } finally {
            logger.detachAppender(log);
        }
    }

    /** With these properties, Tomcat reads the headers of a proxy, whatever the strategy is. */
    @ParameterizedTest
    @CsvSource({"remote-ip-header=X-Forwarded-For", "protocol-header=x-forwarded-proto"})
    void should_trust_the_proxy_that_tomcat_has_trusted(String property) {
        assertProperties(
                prepared(
                        "lambda-dispatcher.burst.function=local",
                        "server.forward-headers-strategy=none",
                        "server.tomcat.remoteip." + property),
                "server.forward-headers-strategy=native",
                "lambda-dispatcher.burst.behind-proxy=true");
    }

    /** Tomcat reads a regular expression, or CIDR blocks if there is a slash. */
    @ParameterizedTest
    @CsvSource(delimiter = ';', textBlock = """
            10\\.0\\.0\\.7              ; 10\\.0\\.0\\.7|127\\.0\\.0\\.1
            10.0.0.0/8, 192.168.0.0/16 ; 10.0.0.0/8, 192.168.0.0/16, 127.0.0.1/32
            ''                         ; 127\\.0\\.0\\.1
            """)
    void should_let_tomcat_believe_the_dispatcher(String before, String after) {
        String internal = "server.tomcat.remoteip.internal-proxies=";
        assertProperties(prepared("lambda-dispatcher.burst.function=local", internal + before), internal + after);
        variables.put("LAMBDA_DISPATCHER_PAYLOAD", "any");
        assertProperties(prepared("lambda-dispatcher.burst.function=local", internal + before), internal + after);
    }

    /** With an empty value, as a test of the application sets it, the other properties may stay. */
    @ParameterizedTest
    @CsvSource({"any=any, any=any", "lambda-dispatcher.burst.function=, lambda-dispatcher.burst.max-workers=5"})
    void should_change_nothing_without_a_function(String function, String more) {
        assertProperties(
                prepared(function, more, "server.port=9000"),
                "server.port=9000",
                "server.address=not set",
                "lambda-dispatcher.enabled=false",
                "lambda-dispatcher.burst.role=not set");
    }

    @Test
    void should_demand_a_function_if_another_property_needs_it() {
        assertThatThrownBy(() -> prepared("lambda-dispatcher.burst.max-workers=5"))
                .hasMessage("lambda-dispatcher.burst.function is not set, expected the name or ARN of a Lambda"
                        + " function, or local");
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
            lambda-dispatcher.burst.base-concurrency=0 | lambda-dispatcher.burst.base-concurrency is 0, expected 1 to 1000
            lambda-dispatcher.burst.max-workers=200000 | lambda-dispatcher.burst.max-workers is 200000, expected 1 to 100000
            lambda-dispatcher.workers.port=0           | lambda-dispatcher.workers.port is 0, expected 1 to 65535, because the base connects to it
            server.ssl.bundle=web                      | server.ssl.bundle is set, expected no TLS in the application's own web server, which only the dispatcher reaches
            server.tomcat.remoteip.remote-ip-header=x-real-ip | server.tomcat.remoteip.remote-ip-header is x-real-ip, expected x-forwarded-for, because the dispatcher writes this
            """)
    void should_name_property_value_and_expectation_and_say_what_to_do(String property, String error) {
        assertThatThrownBy(() -> prepared(
                        "lambda-dispatcher.burst.function=local", "lambda-dispatcher.burst.max-workers=5", property))
                .hasMessage(error)
                .satisfies(failure -> {
                    FailureAnalysis analysis = new BurstStartException.Analyzer().analyze(failure);
                    assertThat(analysis).isNotNull();
                    assertThat(analysis.getDescription()).isEqualTo(error);
                    assertThat(analysis.getAction()).isNotBlank();
                });
    }

    @Test
    void should_name_a_property_that_is_no_number() {
        assertThatThrownBy(() ->
                        prepared("lambda-dispatcher.burst.function=local", "lambda-dispatcher.burst.max-workers=many"))
                .isInstanceOf(BindException.class)
                .hasStackTraceContaining("lambda-dispatcher.burst.max-workers");
    }
}
