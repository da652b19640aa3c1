package io.lambdadispatcher.spring.dispatcher;

import io.lambdadispatcher.core.Dispatcher;
import io.lambdadispatcher.core.DispatcherBuilder;
import io.lambdadispatcher.core.observe.DispatcherObserver;
import io.lambdadispatcher.core.options.FunctionOptions;
import io.lambdadispatcher.core.spi.FunctionInvoker;
import io.lambdadispatcher.core.spi.RequestRouter;
import io.lambdadispatcher.core.spi.WorkerLauncher;
import io.lambdadispatcher.micrometer.DispatcherMetrics;
import io.micrometer.core.instrument.MeterRegistry;
import java.io.UncheckedIOException;
import java.util.List;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.config.BeanPostProcessor;
import org.springframework.boot.actuate.autoconfigure.endpoint.condition.ConditionalOnAvailableEndpoint;
import org.springframework.boot.actuate.endpoint.annotation.Endpoint;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.boot.health.autoconfigure.contributor.ConditionalOnEnabledHealthIndicator;
import org.springframework.boot.health.contributor.HealthIndicator;
import org.springframework.context.ApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Lazy;

/**
 * Runs a {@link Dispatcher}, which is a bean. It uses these beans of the application: {@link
 * FunctionOptions}, {@link RequestRouter}, {@link WorkerLauncher}, {@link FunctionInvoker}, all
 * {@link DispatcherObserver}s, and all {@link DispatcherCustomizer}s.
 *
 * <p>The dispatcher starts when all beans exist, or when the first bean that needs it is created.
 * Its public ports open when the whole application has started.
 */
// The class that creates the meter registry has one name in Spring Boot 4 and another in 3.
@AutoConfiguration(
        afterName = {
            "org.springframework.boot.micrometer.metrics.autoconfigure.CompositeMeterRegistryAutoConfiguration",
            "org.springframework.boot.actuate.autoconfigure.metrics.CompositeMeterRegistryAutoConfiguration"
        })
@ConditionalOnProperty(name = "lambda-dispatcher.enabled", matchIfMissing = true)
@EnableConfigurationProperties(DispatcherProperties.class)
public class DispatcherAutoConfiguration {

    /** The bean is lazy, so that the application's other beans exist when workers connect. */
    @Bean
    @Lazy
    @ConditionalOnMissingBean
    Dispatcher lambdaDispatcher(
            DispatcherProperties properties,
            ObjectProvider<FunctionOptions> functions,
            ObjectProvider<RequestRouter> router,
            ObjectProvider<WorkerLauncher> launcher,
            ObjectProvider<FunctionInvoker> invoker,
            ObjectProvider<DispatcherObserver> observers,
            ObjectProvider<DispatcherCustomizer> customizers,
            DispatcherLifecycle lifecycle) {
        List<DispatcherCustomizer> changes = customizers.orderedStream().toList();
        DispatcherStarter starter = new DispatcherStarter(properties);
        try {
            DispatcherBuilder builder = starter.apply(functions.orderedStream().toList(), !changes.isEmpty());
            router.ifAvailable(builder::router);
            launcher.ifAvailable(builder::launcher);
            invoker.ifAvailable(builder::invoker);
            observers.orderedStream().forEach(builder::observer);
            changes.forEach(customizer -> customizer.customize(builder));
            lifecycle.publicListeners(starter.publicListeners());
            return start(builder);
        } catch (RuntimeException e) {
            starter.close();
            throw e;
        }
    }

    private static Dispatcher start(DispatcherBuilder builder) {
        try {
            return builder.start();
        } catch (UncheckedIOException e) {
            throw DispatcherStartException.portOrFile(e);
        }
    }

    @Bean
    DispatcherLifecycle lambdaDispatcherLifecycle(
            ApplicationContext application, ObjectProvider<Dispatcher> dispatcher, DispatcherProperties properties) {
        return new DispatcherLifecycle(application, dispatcher, properties.shutdown());
    }

    @Bean
    DispatcherLifecycle.PublicPorts lambdaDispatcherPublicPorts(DispatcherLifecycle lifecycle) {
        return new DispatcherLifecycle.PublicPorts(lifecycle);
    }

    /** Reports metrics if {@code dispatcher-micrometer} and a meter registry are present. */
    @Configuration(proxyBeanMethods = false)
    @ConditionalOnClass({DispatcherMetrics.class, MeterRegistry.class})
    @ConditionalOnBean(MeterRegistry.class)
    static class Metrics {
        @Bean
        @ConditionalOnMissingBean
        DispatcherMetrics dispatcherMetrics(MeterRegistry registry) {
            return new DispatcherMetrics(registry);
        }

        @Bean
        static BeanPostProcessor dispatcherMetricsWatch(ObjectProvider<DispatcherMetrics> metrics) {
            return new BeanPostProcessor() {
                @Override
                public Object postProcessAfterInitialization(Object bean, String name) {
                    if (bean instanceof Dispatcher dispatcher) {
                        metrics.getObject().watch(dispatcher);
                    }
                    return bean;
                }
            };
        }
    }

    /** The actuator endpoint {@code dispatcher}. */
    @Configuration(proxyBeanMethods = false)
    @ConditionalOnClass({Endpoint.class, ConditionalOnAvailableEndpoint.class})
    static class Actuator {
        @Bean
        @ConditionalOnAvailableEndpoint
        DispatcherEndpoint dispatcherEndpoint(DispatcherLifecycle lifecycle) {
            return new DispatcherEndpoint(lifecycle);
        }
    }

    /** The health contributor {@code dispatcher}, which needs Spring Boot 4. */
    @Configuration(proxyBeanMethods = false)
    @ConditionalOnClass({HealthIndicator.class, ConditionalOnEnabledHealthIndicator.class})
    static class HealthConfiguration {
        @Bean
        @ConditionalOnEnabledHealthIndicator("dispatcher")
        DispatcherHealthIndicator dispatcherHealthIndicator(DispatcherLifecycle lifecycle) {
            return new DispatcherHealthIndicator(lifecycle);
        }
    }
}
