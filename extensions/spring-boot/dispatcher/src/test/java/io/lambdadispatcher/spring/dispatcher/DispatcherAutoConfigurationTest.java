package io.lambdadispatcher.spring.dispatcher;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.InstanceOfAssertFactories.LIST;

import com.sun.management.UnixOperatingSystemMXBean;
import io.lambdadispatcher.aws.LambdaLauncher;
import io.lambdadispatcher.core.Dispatcher;
import io.lambdadispatcher.core.observe.CapacitySnapshot;
import io.lambdadispatcher.core.observe.PoolSnapshot;
import io.lambdadispatcher.core.options.CapacityPolicy;
import io.lambdadispatcher.core.options.FunctionOptions;
import io.lambdadispatcher.core.options.HttpLimits;
import io.lambdadispatcher.core.options.ListenerOptions;
import io.lambdadispatcher.core.spi.WorkerLauncher;
import io.lambdadispatcher.micrometer.DispatcherMetrics;
import io.lambdadispatcher.wire.testkit.Await;
import io.lambdadispatcher.wire.testkit.EachRelease;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.Supplier;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.config.BeanPostProcessor;
import org.springframework.boot.actuate.endpoint.annotation.Endpoint;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.diagnostics.FailureAnalysis;
import org.springframework.boot.diagnostics.FailureAnalyzer;
import org.springframework.boot.health.contributor.Health;
import org.springframework.boot.health.contributor.HealthIndicator;
import org.springframework.boot.health.contributor.Status;
import org.springframework.boot.test.context.FilteredClassLoader;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.ApplicationContext;
import org.springframework.context.SmartLifecycle;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.event.ContextRefreshedEvent;
import org.springframework.context.support.GenericApplicationContext;
import org.springframework.core.io.support.SpringFactoriesLoader;

@EachRelease
class DispatcherAutoConfigurationTest {
    private static final String SECRET = "lambda-dispatcher.workers.secret=a secret for tests only";
    private static final String NAME = "lambda-dispatcher.function.name=shop";

    private final ApplicationContextRunner empty = new ApplicationContextRunner()
            .withConfiguration(AutoConfigurations.of(DispatcherAutoConfiguration.class))
            .withPropertyValues("lambda-dispatcher.workers.port=0", "lambda-dispatcher.workers.host=127.0.0.1");
    private final ApplicationContextRunner runner = empty.withPropertyValues(NAME, SECRET);

    @Test
    void should_start_a_dispatcher_and_close_it_with_the_context() {
        Dispatcher[] started = new Dispatcher[1];
        runner.withPropertyValues(
                        "lambda-dispatcher.public.plain.port=0", "lambda-dispatcher.public.plain.host=127.0.0.1")
                .run(context -> {
                    started[0] = context.getBean(Dispatcher.class);
                    assertThat(started[0].pools())
                            .extracting(PoolSnapshot::function)
                            .containsExactly("shop");
                    assertThat(started[0].publicAddresses()).hasSize(1);
                    assertThat(started[0].workerAddress().getAddress().isLoopbackAddress())
                            .isTrue();
                });
        assertThat(started[0].close(Duration.ofDays(1)).toCompletableFuture()).isDone();
    }

    @Test
    void should_say_that_a_closed_dispatcher_cannot_start_again() {
        runner.run(context -> {
            context.stop();
            assertThatThrownBy(context::start)
                    .hasRootCauseMessage("the dispatcher has been closed and cannot start again, expected a new"
                            + " application context");
        });
    }

    @Test
    void should_start_nothing_when_disabled() {
        empty.withPropertyValues("lambda-dispatcher.enabled=false")
                .run(context -> assertThat(context).hasNotFailed().doesNotHaveBean(Dispatcher.class));
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
            function.name=                | lambda-dispatcher.function.name: 0 characters, expected 1 to 256 characters
            function.min-workers=2        | lambda-dispatcher.function.maxWorkers: 0, expected minWorkers (2) to 100,000
            workers.port=70000            | lambda-dispatcher.workers.port is 70000, expected a port from 0 to 65535
            workers.host=no.such.host.invalid | lambda-dispatcher.workers.host is no.such.host.invalid, expected a host name or an IP address
            workers.secret=short          | lambda-dispatcher.workers.secret is 5 bytes, expected at least 16 random bytes
            workers.advertised-addresses=10.0.0.7    | lambda-dispatcher.workers.advertised-addresses is '10.0.0.7', expected addresses such as 10.0.0.7:8444
            workers.tls.certificate=none.pem | lambda-dispatcher.workers.tls.certificate is none.pem, expected a readable PEM file
            public.tls.key=none.pem       | lambda-dispatcher.public.tls.certificate is not set, expected a readable PEM file
            functions[0].name=other       | lambda-dispatcher.functions is set, as is function, expected one of the two
            function.lambda=shop:live     | lambda-dispatcher.function.max-workers is 0, expected 1 or more, because lambda is set
            """)
    void should_name_property_value_and_expectation(String property, String error) {
        runner.withPropertyValues("lambda-dispatcher." + property)
                .run(context -> assertThat(context).getFailure().rootCause().hasMessageStartingWith(error));
    }

    /** In YAML, {@code off} without quotes arrives as {@code false}. */
    @Test
    void should_have_tls_for_workers_unless_it_is_off() {
        runner.run(context -> assertThat(context.getBean(Dispatcher.class).workerFingerprints())
                .hasSize(1));
        for (String off : List.of("off", "false")) {
            runner.withPropertyValues("lambda-dispatcher.workers.tls.certificate=" + off)
                    .run(context -> assertThat(context.getBean(Dispatcher.class).workerFingerprints())
                            .isEmpty());
        }
    }

    @Test
    void should_say_what_is_missing() {
        empty.withPropertyValues(SECRET)
                .run(context -> assertThat(context)
                        .getFailure()
                        .rootCause()
                        .hasMessage("lambda-dispatcher.function.name is not set, expected the name of a function, or"
                                + " a bean of FunctionOptions"));
        empty.withPropertyValues(NAME)
                .run(context -> assertThat(context)
                        .getFailure()
                        .rootCause()
                        .hasMessage("lambda-dispatcher.workers.secret is not set, expected at least 16 random bytes,"
                                + " because workers launch themselves"));
        empty.withPropertyValues(NAME)
                .withClassLoader(new FilteredClassLoader(LambdaLauncher.class))
                .withPropertyValues("lambda-dispatcher.function.lambda=shop")
                .run(context -> assertThat(context)
                        .getFailure()
                        .rootCause()
                        .hasMessage("lambda-dispatcher.function.lambda is shop, expected the artifact dispatcher-aws on"
                                + " the class path"));
    }

    /** Spring Boot prints this instead of a stack trace. */
    @Test
    void should_describe_a_failed_start_and_what_to_do() throws IOException {
        runner.withPropertyValues("lambda-dispatcher.workers.port=70000").run(context -> {
            FailureAnalysis analysis = analysis(context.getStartupFailure());
            assertThat(analysis.getDescription())
                    .isEqualTo("lambda-dispatcher.workers.port is 70000, expected a port from 0 to 65535");
            assertThat(analysis.getAction()).isEqualTo("Correct this property in the application's configuration.");
        });
        try (ServerSocket taken = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            runner.withPropertyValues("lambda-dispatcher.workers.port=" + taken.getLocalPort())
                    .run(context -> {
                        FailureAnalysis analysis = analysis(context.getStartupFailure());
                        assertThat(analysis.getDescription())
                                .startsWith("cannot listen on 127.0.0.1:" + taken.getLocalPort() + ": ");
                        assertThat(analysis.getAction()).contains("lambda-dispatcher.workers.port");
                    });
        }
    }

    @Test
    void should_not_take_a_file_for_a_port(@TempDir Path directory) {
        String tls = "lambda-dispatcher.workers.tls.";
        runner.withPropertyValues(tls + "certificate=" + directory, tls + "key=" + directory)
                .run(context -> {
                    FailureAnalysis analysis = analysis(context.getStartupFailure());
                    assertThat(analysis.getDescription())
                            .isEqualTo("certificate chain file " + directory
                                    + " cannot be read: java.io.IOException: Is a directory");
                    assertThat(analysis.getAction())
                            .isEqualTo("Let the application read this file, or set another file in the application's"
                                    + " configuration.");
                });
    }

    @Test
    @EnabledOnOs({OS.LINUX, OS.MAC})
    @Timeout(120)
    void should_close_the_launcher_if_the_dispatcher_does_not_start() throws Exception {
        try (ServerSocket taken = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            ApplicationContextRunner failing = empty.withSystemProperties("aws.region=eu-central-1")
                    .withPropertyValues(
                            NAME,
                            "lambda-dispatcher.function.lambda=shop",
                            "lambda-dispatcher.function.max-workers=3",
                            "lambda-dispatcher.workers.port=" + taken.getLocalPort());
            failing.run(context -> assertThat(context).hasFailed());
            long before = openFiles();
            for (int i = 0; i < 10; i++) {
                failing.run(context -> assertThat(context).hasFailed());
            }
            // The event loops of a dispatcher that has not started end soon afterwards.
            Await.until("they are closed", () -> openFiles() < before + 10);
        }
    }

    /** Each launcher has an event loop, and each event loop has open files. */
    private static long openFiles() {
        return ManagementFactory.getPlatformMXBean(UnixOperatingSystemMXBean.class)
                .getOpenFileDescriptorCount();
    }

    private static FailureAnalysis analysis(Throwable failure) {
        // Other analyzers have constructors that only an application can call.
        return SpringFactoriesLoader.forDefaultResourceLocation()
                .load(FailureAnalyzer.class, (type, name, problem) -> {})
                .stream()
                .filter(each -> each instanceof DispatcherStartException.Analyzer)
                .map(each -> each.analyze(failure))
                .findFirst()
                .orElseThrow();
    }

    @Test
    void should_use_functions_launchers_and_customizers_of_the_application() {
        empty.withBean(FunctionOptions.class, () -> FunctionOptions.of("from-a-bean"))
                .withBean(WorkerLauncher.class, NoWorkers::new)
                .withBean(
                        DispatcherCustomizer.class,
                        () -> builder -> builder.function(FunctionOptions.of("from-a-customizer")))
                .withPropertyValues(
                        SECRET,
                        "lambda-dispatcher.functions[0].name=first",
                        "lambda-dispatcher.functions[0].max-workers=3",
                        "lambda-dispatcher.functions[1].name=second")
                .run(context -> {
                    Dispatcher dispatcher = context.getBean(Dispatcher.class);
                    assertThat(dispatcher.pools())
                            .extracting(PoolSnapshot::function)
                            .containsExactly("first", "second", "from-a-bean", "from-a-customizer");
                    assertThat(dispatcher.capacity())
                            .extracting(CapacitySnapshot::function)
                            .containsExactly("first");
                });
    }

    /** So a function of the properties can have options that have no property. */
    @Test
    void should_prefer_a_bean_to_the_properties_of_a_function_with_the_same_name() {
        FunctionOptions bean = FunctionOptions.builder("second")
                .capacity(CapacityPolicy.between(0, 7))
                .build();
        empty.withBean(FunctionOptions.class, () -> bean)
                .withBean(WorkerLauncher.class, NoWorkers::new)
                .withPropertyValues(
                        SECRET,
                        "lambda-dispatcher.functions[0].name=first",
                        "lambda-dispatcher.functions[1].name=second")
                .run(context -> {
                    Dispatcher dispatcher = context.getBean(Dispatcher.class);
                    assertThat(dispatcher.pools())
                            .extracting(PoolSnapshot::function)
                            .containsExactly("first", "second");
                    assertThat(dispatcher.capacity())
                            .extracting(CapacitySnapshot::function)
                            .containsExactly("second");
                });
    }

    /** The bean's workers are launched, with secrets of their own. */
    @Test
    void should_need_no_secret_for_a_function_whose_bean_has_launched_workers() {
        FunctionOptions bean = FunctionOptions.builder("shop")
                .capacity(CapacityPolicy.between(0, 7))
                .build();
        empty.withBean(FunctionOptions.class, () -> bean)
                .withBean(WorkerLauncher.class, NoWorkers::new)
                .withPropertyValues(NAME)
                .run(context -> assertThat(context).hasNotFailed());
    }

    /** Starts as the last bean of the application, with a context below it. */
    private static final class LastToStart implements SmartLifecycle {
        private final ApplicationContext application;
        private final ObjectProvider<Dispatcher> dispatcher;
        private @Nullable List<InetSocketAddress> seen;

        LastToStart(ApplicationContext application, ObjectProvider<Dispatcher> dispatcher) {
            this.application = application;
            this.dispatcher = dispatcher;
        }

        @Override
        public void start() {
            try (GenericApplicationContext below = new GenericApplicationContext(application)) {
                below.refresh();
            }
            seen = dispatcher.getObject().publicAddresses();
        }

        @Override
        public void stop() {
            seen = null;
        }

        @Override
        public boolean isRunning() {
            return seen != null;
        }
    }

    @Test
    void should_let_clients_in_when_the_application_has_started() {
        runner.withBean(LastToStart.class)
                .withPropertyValues(
                        "lambda-dispatcher.public.plain.host=127.0.0.1", "lambda-dispatcher.public.plain.port=0")
                .run(context -> {
                    assertThat(context.getBean(LastToStart.class).seen).isEmpty();
                    assertThat(context.getBean(Dispatcher.class).publicAddresses())
                            .hasSize(1);
                });
    }

    /** Spring 6.2 does not stop what has started if a listener fails, so the ports open before. */
    @Test
    void should_open_the_public_port_before_listeners_hear_of_the_start() {
        List<List<InetSocketAddress>> seen = new ArrayList<>();
        runner.withPropertyValues(
                        "lambda-dispatcher.public.plain.host=127.0.0.1", "lambda-dispatcher.public.plain.port=0")
                .withInitializer(context -> context.addApplicationListener(event -> {
                    if (event instanceof ContextRefreshedEvent) {
                        seen.add(context.getBean(Dispatcher.class).publicAddresses());
                    }
                }))
                .run(context ->
                        assertThat(seen).singleElement().asInstanceOf(LIST).hasSize(1));
    }

    @Test
    void should_close_the_dispatcher_if_a_public_port_is_in_use() throws IOException {
        Dispatcher[] started = new Dispatcher[1];
        try (ServerSocket taken = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            runner.withBean(CapturesDispatcher.class, () -> new CapturesDispatcher(started))
                    .withPropertyValues(
                            "lambda-dispatcher.public.plain.host=127.0.0.1",
                            "lambda-dispatcher.public.plain.port=" + taken.getLocalPort())
                    .run(context -> assertThat(
                                    analysis(context.getStartupFailure()).getDescription())
                            .startsWith("cannot listen on 127.0.0.1:" + taken.getLocalPort() + ": "));
        }
        assertThat(started[0].close(Duration.ofDays(1)).toCompletableFuture()).isDone();
    }

    private record CapturesDispatcher(Dispatcher[] started) implements BeanPostProcessor {
        @Override
        public Object postProcessAfterInitialization(Object bean, String name) {
            if (bean instanceof Dispatcher dispatcher) {
                started[0] = dispatcher;
            }
            return bean;
        }
    }

    /** What docs/guides/spring-boot.md shows. */
    @Configuration(proxyBeanMethods = false)
    static class Page {
        // tag::customizer
        @Bean
        DispatcherCustomizer limits() {
            return builder -> builder.limits(
                    HttpLimits.builder().writeTimeout(Duration.ofSeconds(5)).build());
        }
        // end::customizer

        // tag::health
        @Bean
        HealthIndicator dispatcherHealth(Dispatcher dispatcher) {
            return () -> (dispatcher.isReady() ? Health.up() : Health.down()).build();
        }
        // end::health
    }

    @Test
    void should_run_what_the_page_shows() {
        runner.withUserConfiguration(Page.class)
                .run(context -> assertThat(context.getBean("dispatcherHealth", HealthIndicator.class)
                                .health()
                                .getStatus())
                        .isEqualTo(Status.DOWN));
    }

    @Test
    void should_be_what_the_page_shows() throws IOException {
        Path top = Path.of("../../..");
        String page = Files.readString(top.resolve("docs/guides/spring-boot.md"));
        List<String> shown = Pattern.compile("(?s)```\\w+\n(.*?)```")
                .matcher(page)
                .results()
                .map(block -> unindented(block.group(1)))
                .toList();
        String own =
                Files.readString(Path.of("src/test/java", getClass().getName().replace('.', '/') + ".java"));
        // Within a class, because Spring Boot 3.5 needs other imports.
        assertThat(unindented(page)).contains(unindented(tagged(own, "health")));
        String dispatcher = Files.readString(top.resolve("examples/spring-boot-dispatcher/pom.xml"));
        assertThat(shown)
                .contains(
                        unindented(tagged(own, "customizer")),
                        between(dispatcher, "<parent>", "</dependencies>"),
                        configuration(top, "spring-boot-dispatcher"),
                        configuration(top, "spring-boot-worker"));
    }

    private static String configuration(Path top, String example) throws IOException {
        return unindented(
                Files.readString(top.resolve("examples/" + example + "/src/main/resources/application.yaml")));
    }

    private static String between(String text, String first, String last) {
        return unindented(text.substring(text.indexOf(first), text.indexOf(last) + last.length()));
    }

    private static String unindented(String text) {
        return text.replaceAll("\\s+", " ").strip();
    }

    private static String tagged(String source, String tag) {
        String lines = source.substring(source.indexOf("tag::" + tag), source.indexOf("end::" + tag));
        return lines.substring(lines.indexOf('\n'), lines.lastIndexOf('\n'));
    }

    /** Nothing is invoked, because the minimum is 0 and there are no requests. */
    @Test
    void should_launch_workers_on_lambda_when_a_lambda_function_is_named() {
        empty.withSystemProperties("aws.region=eu-central-1")
                .withPropertyValues(
                        NAME, "lambda-dispatcher.function.lambda=shop:live", "lambda-dispatcher.function.max-workers=3")
                .run(context -> assertThat(context.getBean(Dispatcher.class).capacity())
                        .extracting(CapacitySnapshot::function)
                        .containsExactly("shop"));
    }

    @Test
    void should_leave_a_dispatcher_of_the_application_alone() {
        Supplier<Dispatcher> own = () -> Dispatcher.builder()
                .function(FunctionOptions.of("own"))
                .workerListener(ListenerOptions.plain("127.0.0.1", 0))
                .start();
        empty.withBean(Dispatcher.class, own)
                .run(context -> assertThat(context.getBean(Dispatcher.class).pools())
                        .extracting(PoolSnapshot::function)
                        .containsExactly("own"));
    }

    /** For example a dispatcher of parcels. */
    @Test
    void should_leave_beans_with_common_names_alone() {
        runner.withBean("dispatcher", String.class, () -> "of parcels")
                .withBean("dispatcherLifecycle", String.class, () -> "hired and fired")
                .run(context -> assertThat(context).hasNotFailed().hasSingleBean(Dispatcher.class));
    }

    @Test
    void should_be_down_while_no_worker_is_ready() {
        runner.run(context -> {
            var health = context.getBean(HealthIndicator.class).health();
            assertThat(health.getStatus()).isEqualTo(Status.DOWN);
            assertThat(health.getDetails()).containsEntry("shop.readyWorkers", 0);
        });
        runner.withPropertyValues("management.health.dispatcher.enabled=false")
                .run(context -> assertThat(context).doesNotHaveBean(HealthIndicator.class));
    }

    @Test
    void should_describe_the_dispatcher_where_the_endpoint_is_exposed() {
        runner.run(context -> assertThat(context).doesNotHaveBean(DispatcherEndpoint.class));
        runner.withPropertyValues("management.endpoints.web.exposure.include=dispatcher")
                .run(context -> {
                    DispatcherEndpoint.Description description =
                            context.getBean(DispatcherEndpoint.class).description();
                    assertThat(description.ready()).isFalse();
                    assertThat(description.workerAddress()).contains("127.0.0.1:");
                    assertThat(description.functions())
                            .extracting(PoolSnapshot::function)
                            .containsExactly("shop");
                });
    }

    @Test
    void should_publish_metrics_where_there_is_a_registry() {
        runner.run(context -> assertThat(context).doesNotHaveBean(DispatcherMetrics.class));
        runner.withBean(MeterRegistry.class, SimpleMeterRegistry::new).run(context -> {
            MeterRegistry registry = context.getBean(MeterRegistry.class);
            assertThat(registry.get("lambda.dispatcher.workers").gauge().value())
                    .isZero();
        });
    }

    @Test
    void should_need_no_actuator_no_metrics_and_no_aws() {
        runner.withClassLoader(new FilteredClassLoader(
                        "org.springframework.boot.actuate",
                        "org.springframework.boot.health",
                        "io.micrometer",
                        "io.lambdadispatcher.micrometer",
                        "io.lambdadispatcher.aws"))
                .run(context -> assertThat(context)
                        .hasNotFailed()
                        .hasSingleBean(Dispatcher.class)
                        .doesNotHaveBean(Endpoint.class));
    }

    private static final class NoWorkers implements WorkerLauncher {
        @Override
        public LaunchedWorker launch(LaunchRequest request) {
            return new LaunchedWorker() {
                @Override
                public CompletableFuture<WorkerExit> exit() {
                    return CompletableFuture.completedFuture(new WorkerExit(Cause.THROTTLED, "for a test"));
                }

                @Override
                public void kill() {}
            };
        }

        @Override
        public void close(Duration grace) {}
    }
}
