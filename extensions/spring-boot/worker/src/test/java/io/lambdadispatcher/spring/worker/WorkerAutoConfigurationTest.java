package io.lambdadispatcher.spring.worker;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.wire.testkit.EachRelease;
import io.lambdadispatcher.worker.config.WorkerConfig;
import java.time.Duration;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.context.annotation.UserConfigurations;
import org.springframework.boot.diagnostics.FailureAnalysis;
import org.springframework.boot.diagnostics.FailureAnalyzer;
import org.springframework.boot.health.contributor.HealthIndicator;
import org.springframework.boot.health.contributor.Status;
import org.springframework.boot.test.context.FilteredClassLoader;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.core.env.StandardEnvironment;
import org.springframework.core.io.support.SpringFactoriesLoader;

@EachRelease
@ExtendWith(OutputCaptureExtension.class)
class WorkerAutoConfigurationTest {
    private static final String[] COMPLETE = {
        "lambda-dispatcher.worker.addresses=127.0.0.1:1",
        "lambda-dispatcher.worker.function=shop",
        "lambda-dispatcher.worker.secret=a secret for tests only",
        "local.server.port=1"
    };

    private final ApplicationContextRunner runner = new ApplicationContextRunner()
            .withConfiguration(
                    AutoConfigurations.of(WorkerAutoConfiguration.class, WorkerLimitAutoConfiguration.class));

    @Test
    void should_start_no_worker_unless_a_dispatcher_is_named() {
        runner.run(context -> assertThat(context).hasNotFailed().doesNotHaveBean(WorkerLifecycle.class));
        runner.withPropertyValues(COMPLETE)
                .withPropertyValues("lambda-dispatcher.worker.enabled=false")
                .run(context -> assertThat(context).hasNotFailed().doesNotHaveBean(WorkerLifecycle.class));
    }

    /** So that the application need not know its role. */
    @Test
    void should_have_a_limit_without_a_worker() {
        runner.run(context -> context.getBean(WorkerLimit.class).limit(1));
    }

    /** Their names are those that a shop with workers of its own may choose, too. */
    @Test
    void should_leave_beans_of_the_application_alone() {
        WorkerLimit own = requests -> {};
        runner.withPropertyValues(COMPLETE)
                .withBean("workerLimit", String.class, () -> "5 a day")
                .withBean("workerLifecycle", String.class, () -> "hired and fired")
                .run(context -> assertThat(context).hasNotFailed().hasSingleBean(WorkerLimit.class));
        runner.withBean(WorkerLimit.class, () -> own)
                .run(context -> assertThat(context.getBean(WorkerLimit.class)).isSameAs(own));
    }

    @Test
    void should_warn_of_a_misspelt_property_because_no_worker_may_start(CapturedOutput output) {
        runner.withPropertyValues(
                        "lambda-dispatcher.worker.adresses=127.0.0.1:1",
                        "lambda-dispatcher.worker.function=shop",
                        "lambda-dispatcher.worker.drainGrace=1s",
                        "lambda-dispatcher.worker.tls-key=key.pem")
                .run(context -> assertThat(context).doesNotHaveBean(WorkerLifecycle.class));

        assertThat(output)
                .contains("unknown property lambda-dispatcher.worker.adresses")
                .doesNotContain("worker.function.", "worker.drainGrace.", "worker.tls-key.");
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
            addresses=10.0.0.7  | lambda-dispatcher.worker.addresses is '10.0.0.7', expected host:port
            function=           | lambda-dispatcher.worker.function is not set, expected the name of a function that the dispatcher knows
            secret=short        | lambda-dispatcher.worker.secret of 5 bytes, expected at least 16
            secret=             | lambda-dispatcher.worker.secret is not set, expected the dispatcher's function.secret or workers.secret, the function's key in lambda-dispatcher.worker.function-key, or a launch token in lambda-dispatcher.worker.token
            connections=0       | lambda-dispatcher.worker.connections is 0, expected 1 to 64
            drain-grace=-1s     | lambda-dispatcher.worker.drain-grace is '-1000', expected milliseconds, 0 to 31622400000
            tls-key=key.pem     | lambda-dispatcher.worker.tls-certificate is not set, expected a PEM file, because lambda-dispatcher.worker.tls-key is set
            """)
    void should_name_property_value_and_expectation(String property, String error) {
        runner.withPropertyValues(COMPLETE)
                .withPropertyValues("lambda-dispatcher.worker." + property)
                .run(context -> assertThat(context).getFailure().rootCause().hasMessage(error));
    }

    /** Spring Boot prints this instead of a stack trace. */
    @Test
    void should_describe_a_failed_start_and_what_to_do() {
        runner.withPropertyValues(COMPLETE)
                .withPropertyValues("lambda-dispatcher.worker.connections=0")
                .run(context -> {
                    FailureAnalysis analysis = SpringFactoriesLoader.forDefaultResourceLocation()
                            .load(FailureAnalyzer.class, (type, name, problem) -> {})
                            .stream()
                            .filter(each -> each instanceof WorkerStartException.Analyzer)
                            .map(each -> each.analyze(context.getStartupFailure()))
                            .findFirst()
                            .orElseThrow();
                    assertThat(analysis.getDescription())
                            .isEqualTo("lambda-dispatcher.worker.connections is 0, expected 1 to 64");
                    assertThat(analysis.getAction())
                            .isEqualTo("Correct this property in the application's configuration.");
                });
    }

    @Test
    void should_say_that_it_needs_a_web_server() {
        runner.withPropertyValues(COMPLETE[0], COMPLETE[1], COMPLETE[2])
                .run(context -> assertThat(context)
                        .getFailure()
                        .rootCause()
                        .hasMessageContaining(
                                "local.server.port is not set, expected an application with a web server"));
    }

    @Test
    void should_be_down_until_a_dispatcher_has_let_the_worker_in() {
        runner.withPropertyValues(COMPLETE).run(context -> {
            var health = context.getBean(HealthIndicator.class).health();
            assertThat(health.getStatus()).isEqualTo(Status.DOWN);
            assertThat(health.getDetails()).containsEntry("reason", "no dispatcher has let the worker in yet");
        });
        runner.withPropertyValues(COMPLETE)
                .withClassLoader(new FilteredClassLoader("org.springframework.boot.health"))
                .run(context -> assertThat(context).hasNotFailed().doesNotHaveBean(HealthIndicator.class));
    }

    @Test
    void should_read_variables_whose_properties_are_not_set() {
        WorkerProperties properties = new WorkerProperties(
                true,
                java.util.List.of(),
                "from-a-property",
                null,
                null,
                null,
                null,
                null,
                null,
                null,
                null,
                null,
                null,
                null);
        Map<String, String> variables = new TreeMap<>(Map.of(
                "LAMBDA_DISPATCHER_ADDRESSES", "10.0.0.7:8444,10.0.0.8:8444",
                "LAMBDA_DISPATCHER_FUNCTION", "from-a-variable",
                "LAMBDA_DISPATCHER_SECRET", "a secret for tests only",
                "LAMBDA_DISPATCHER_DRAIN_GRACE_MILLIS", "1500"));
        WorkerConfig config = new WorkerSettings(properties, variables).config();
        assertThat(config.function()).isEqualTo("from-a-property");
        assertThat(config.addresses()).hasSize(2);
        assertThat(config.drainGrace()).isEqualTo(Duration.ofMillis(1500));
    }

    @Test
    void should_start_a_worker_that_the_environment_asks_for() {
        for (String name : new String[] {"LAMBDA_DISPATCHER_ADDRESSES", "LAMBDA_DISPATCHER_PAYLOAD"}) {
            new ApplicationContextRunner(() -> {
                        AnnotationConfigApplicationContext context = new AnnotationConfigApplicationContext();
                        context.setEnvironment(new StandardEnvironment() {
                            @Override
                            public Map<String, Object> getSystemEnvironment() {
                                return Map.of(name, "not usable");
                            }
                        });
                        return context;
                    })
                    .withConfiguration(UserConfigurations.of(WorkerAutoConfiguration.class))
                    .run(context -> assertThat(context).hasFailed());
        }
    }
}
