package io.lambdadispatcher.spring.worker;

import java.lang.reflect.RecordComponent;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
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
import org.springframework.core.env.Environment;
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
    WorkerLifecycle lambdaWorkerLifecycle(ConfigurableApplicationContext application, WorkerProperties properties) {
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
        private static final String PREFIX = "lambda-dispatcher.worker";
        private static final String ADDRESSES = PREFIX + ".addresses";
        private static final Logger log = LoggerFactory.getLogger(WorkerAutoConfiguration.class);

        @Override
        public ConditionOutcome getMatchOutcome(ConditionContext context, AnnotatedTypeMetadata metadata) {
            warnOfUnknown(context.getEnvironment());
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

        /** Otherwise, nothing would say why no worker starts if a property is misspelt. */
        private static void warnOfUnknown(Environment environment) {
            List<String> known = Arrays.stream(WorkerProperties.class.getRecordComponents())
                    .map(RecordComponent::getName)
                    .map(name -> name.toLowerCase(Locale.ROOT))
                    .toList();
            Binder.get(environment)
                    .bind(PREFIX, Bindable.mapOf(String.class, Object.class))
                    .orElse(Map.of())
                    .keySet()
                    .stream()
                    .filter(name -> !known.contains(name.replaceAll("[-_]", "").toLowerCase(Locale.ROOT)))
                    .forEach(name -> log.warn(
                            "unknown property {}.{}. The worker ignores it. See the properties in docs/guides/spring-boot.md",
                            PREFIX,
                            name));
        }
    }
}
