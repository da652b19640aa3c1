package io.lambdadispatcher.spring.worker;

import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.context.annotation.Bean;

/** The {@link WorkerLimit}, which is there in each role, so that the application can rely on it. */
@AutoConfiguration(after = WorkerAutoConfiguration.class)
public class WorkerLimitAutoConfiguration {
    @Bean
    @ConditionalOnMissingBean
    WorkerLimit lambdaWorkerLimit(ObjectProvider<WorkerLifecycle> lifecycle) {
        return requests -> {
            if (requests < 1) {
                throw new IllegalArgumentException("requests: " + requests + ", expected 1 or more");
            }
            lifecycle.ifAvailable(its -> its.limit(requests));
        };
    }
}
