package io.lambdadispatcher.spring.worker;

import java.util.List;
import java.util.Map;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionMessage;
import org.springframework.boot.autoconfigure.condition.ConditionOutcome;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.boot.autoconfigure.condition.SpringBootCondition;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.boot.context.properties.bind.Bindable;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.boot.health.autoconfigure.contributor.ConditionalOnEnabledHealthIndicator;
import org.springframework.boot.health.contributor.HealthIndicator;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.ConditionContext;
import org.springframework.context.annotation.Conditional;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.env.ConfigurableEnvironment;
import org.springframework.core.type.AnnotatedTypeMetadata;

/**
 * Runs a worker that relays requests to the application's own web server. It starts only if {@code
 * lambda-dispatcher.worker.addresses} or the environment names a dispatcher.
 */
@AutoConfiguration
@ConditionalOnProperty(name = "lambda-dispatcher.worker.enabled", matchIfMissing = true)
@Conditional(WorkerAutoConfiguration.OnDispatcher.class)
@EnableConfigurationProperties(WorkerProperties.class)
public class WorkerAutoConfiguration {

    @Bean
    WorkerLifecycle workerLifecycle(ConfigurableApplicationContext application, WorkerProperties properties) {
        Map<String, String> variables = LocalServer.variables(application.getEnvironment());
        return new WorkerLifecycle(application, new WorkerSettings(properties, variables), System::exit);
    }

    /** The health contributor {@code lambdaWorker}, which needs Spring Boot 4. */
    @Configuration(proxyBeanMethods = false)
    @ConditionalOnClass({HealthIndicator.class, ConditionalOnEnabledHealthIndicator.class})
    static class HealthConfiguration {
        @Bean
        @ConditionalOnEnabledHealthIndicator("lambda-worker")
        WorkerHealthIndicator lambdaWorkerHealthIndicator(WorkerLifecycle lifecycle) {
            return new WorkerHealthIndicator(lifecycle);
        }
    }

    static final class OnDispatcher extends SpringBootCondition {
        private static final String ADDRESSES = "lambda-dispatcher.worker.addresses";

        @Override
        public ConditionOutcome getMatchOutcome(ConditionContext context, AnnotatedTypeMetadata metadata) {
            boolean asked = Binder.get(context.getEnvironment())
                            .bind(ADDRESSES, Bindable.listOf(String.class))
                            .orElse(List.of())
                            .stream()
                            .anyMatch(address -> !address.isBlank())
                    || context.getEnvironment() instanceof ConfigurableEnvironment environment
                            && WorkerSettings.askForWorker(LocalServer.variables(environment));
            ConditionMessage.Builder message = ConditionMessage.forCondition("a dispatcher to dial");
            return new ConditionOutcome(
                    asked, asked ? message.because("named") : message.because(ADDRESSES + " is not set"));
        }
    }
}
