package io.lambdadispatcher.spring.burst;

import io.lambdadispatcher.core.Dispatcher;
import io.lambdadispatcher.core.options.CapacityPolicy;
import io.lambdadispatcher.core.options.ForwardingPolicy;
import io.lambdadispatcher.core.options.FunctionOptions;
import io.lambdadispatcher.core.options.LaunchLimits;
import io.lambdadispatcher.core.spi.WorkerLauncher;
import io.lambdadispatcher.spring.dispatcher.DispatcherAutoConfiguration;
import io.lambdadispatcher.spring.dispatcher.DispatcherCustomizer;
import io.lambdadispatcher.spring.dispatcher.DispatcherProperties;
import java.time.Duration;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.boot.ApplicationArguments;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.context.ApplicationContext;
import org.springframework.context.ApplicationListener;
import org.springframework.context.annotation.Bean;
import org.springframework.context.event.ContextClosedEvent;
import org.springframework.core.Ordered;
import org.springframework.core.annotation.Order;

/**
 * Adds to the starter of the dispatcher what a base needs: the function's options, a launcher of
 * local workers, and the order of shutdown.
 */
@AutoConfiguration(before = DispatcherAutoConfiguration.class)
@ConditionalOnProperty(name = BurstEnvironment.ROLE, havingValue = "base")
@EnableConfigurationProperties(BurstProperties.class)
public class BurstAutoConfiguration {
    /** A request that exceeds the base may wait for the start of a Spring Boot application. */
    private static final Duration START = Duration.ofSeconds(30);

    private static final int QUEUE = 10_000;

    /** The options of the function. A bean with this name replaces them. */
    @Bean
    @ConditionalOnMissingBean(name = "burstFunction")
    FunctionOptions burstFunction(
            BurstProperties properties, @Value("${lambda-dispatcher.function.name}") String name) {
        return FunctionOptions.builder(name)
                .streamsPerConnection(properties.baseConcurrency())
                .capacity(CapacityPolicy.between(0, properties.maxWorkers()))
                .queue(QUEUE, START)
                .launching(LaunchLimits.builder().launchTimeout(START.multipliedBy(2)).build())
                .build();
    }

    @Bean
    @ConditionalOnProperty(name = "lambda-dispatcher.burst.function", havingValue = "local")
    @ConditionalOnMissingBean
    WorkerLauncher localWorkers(ApplicationArguments arguments) {
        return SameProgramLauncher.of(arguments.getSourceArgs());
    }

    /** Trusts a proxy in front of the application if the application has trusted it. */
    @Bean
    @Order(Ordered.HIGHEST_PRECEDENCE)
    DispatcherCustomizer burstForwarding(@Value("${" + BurstEnvironment.BEHIND_PROXY + "}") boolean behindProxy) {
        ForwardingPolicy.Trust trust = behindProxy ? ForwardingPolicy.Trust.APPEND : ForwardingPolicy.Trust.REPLACE;
        return builder ->
                builder.forwarding(ForwardingPolicy.builder().trust(trust).build());
    }

    /**
     * Closes the dispatcher when the application begins to close: it finishes its requests with the
     * help of all that the application consists of, such as the worker, the web server and
     * executors. All of them would otherwise end before the dispatcher, because they start after it.
     */
    @Bean
    static BurstDrain burstDrain(
            ApplicationContext application, ObjectProvider<Dispatcher> dispatcher, DispatcherProperties properties) {
        return new BurstDrain(application, dispatcher, properties.shutdown().grace());
    }

    record BurstDrain(ApplicationContext application, ObjectProvider<Dispatcher> dispatcher, Duration grace)
            implements ApplicationListener<ContextClosedEvent>, Ordered {
        /** Executors of the application take no more tasks after this event. */
        @Override
        public int getOrder() {
            return HIGHEST_PRECEDENCE;
        }

        @Override
        public void onApplicationEvent(ContextClosedEvent event) {
            // Contexts below this one, such as that of the management port, send their events, too.
            if (event.getApplicationContext() == application) {
                dispatcher.getObject().close(grace).toCompletableFuture().join();
            }
        }
    }
}
