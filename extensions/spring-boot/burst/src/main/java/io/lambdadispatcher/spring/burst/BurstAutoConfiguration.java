package io.lambdadispatcher.spring.burst;

import io.lambdadispatcher.core.Dispatcher;
import io.lambdadispatcher.core.options.CapacityPolicy;
import io.lambdadispatcher.core.options.ForwardingPolicy;
import io.lambdadispatcher.core.options.FunctionOptions;
import io.lambdadispatcher.core.options.LaunchLimits;
import io.lambdadispatcher.core.spi.WorkerLauncher;
import io.lambdadispatcher.spring.dispatcher.DispatcherAutoConfiguration;
import io.lambdadispatcher.spring.dispatcher.DispatcherCustomizer;
import io.lambdadispatcher.spring.worker.WorkerAutoConfiguration;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.locks.LockSupport;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.boot.ApplicationArguments;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.context.SmartLifecycle;
import org.springframework.context.annotation.Bean;
import org.springframework.core.Ordered;
import org.springframework.core.annotation.Order;

/**
 * Adds to the starter of the dispatcher what a base needs: the function's options, a launcher of
 * local workers, and the order of the start.
 */
@AutoConfiguration(after = WorkerAutoConfiguration.class, before = DispatcherAutoConfiguration.class)
@ConditionalOnProperty(name = BurstEnvironment.ROLE, havingValue = "base")
@EnableConfigurationProperties(BurstProperties.class)
public class BurstAutoConfiguration {
    /** A request that exceeds the base may wait for the start of a Spring Boot application. */
    private static final Duration START = Duration.ofSeconds(30);

    private static final Duration POLL = Duration.ofMillis(2);
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
                .launching(LaunchLimits.builder()
                        .launchTimeout(START.multipliedBy(4))
                        .build())
                .build();
    }

    @Bean
    @ConditionalOnProperty(name = "lambda-dispatcher.burst.function", havingValue = "local")
    @ConditionalOnMissingBean
    WorkerLauncher burstLocalWorkers(ApplicationArguments arguments) {
        return SameProgramLauncher.of(arguments.getSourceArgs());
    }

    /** Trusts a proxy in front as far as the application has trusted it. */
    @Bean
    @Order(Ordered.HIGHEST_PRECEDENCE)
    DispatcherCustomizer burstForwarding(
            @Value("${" + BurstEnvironment.BEHIND_PROXY + "}") boolean behindProxy,
            @Value("${" + BurstEnvironment.FORWARDING + "}") String strategy) {
        ForwardingPolicy.Builder policy = ForwardingPolicy.builder();
        if (behindProxy) {
            List<String> host = List.of("x-forwarded-host");
            List<String> hostAndPrefix = List.of("x-forwarded-host", "x-forwarded-prefix");
            policy.trust(ForwardingPolicy.Trust.APPEND)
                    .trustedHeaders(strategy.equalsIgnoreCase("framework") ? hostAndPrefix : host);
        }
        return builder -> builder.forwarding(policy.build());
    }

    @Bean
    BaseOrder burstBaseOrder(ObjectProvider<Dispatcher> dispatcher) {
        return new BaseOrder(dispatcher);
    }

    /**
     * Begins to serve after everything else has started. It starts in the same phase as the worker
     * and the public ports, between them, because that is the order of the auto-configurations.
     */
    record BaseOrder(ObjectProvider<Dispatcher> dispatcher) implements SmartLifecycle {
        /** Waits for the worker of this process. Then the public port opens. */
        @Override
        public void start() {
            long deadlineNanos = System.nanoTime() + START.toNanos();
            while (dispatcher.getObject().pools().stream().allMatch(pool -> pool.readyBaseWorkers() == 0)) {
                if (System.nanoTime() - deadlineNanos > 0) {
                    throw BurstStartException.notConnected(START);
                }
                LockSupport.parkNanos(POLL.toNanos());
            }
        }

        /** There is nothing to stop. */
        @Override
        public boolean isRunning() {
            return false;
        }

        @Override
        public void stop() {}
    }
}
