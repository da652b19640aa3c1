package io.lambdadispatcher.spring.burst;

import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * How an application bursts.
 *
 * @param function Name or ARN of the Lambda function that runs this application, with or without
 *     :alias or :version. With local, workers are processes on this machine. With an empty
 *     value, the application serves alone, without a dispatcher.
 * @param baseConcurrency Number of requests that the application serves concurrently before
 *     workers are launched, 1 to 1000. A launched worker serves as many. The default is the number
 *     of threads of the web server, or its maximum number of connections, if one is less than 100.
 * @param maxWorkers Maximum number of launched workers, 1 to 100000. While workers are being
 *     replaced, there can be up to twice as many.
 */
@ConfigurationProperties("lambda-dispatcher.burst")
public record BurstProperties(
        @Nullable String function,
        @DefaultValue("100") int baseConcurrency,
        @DefaultValue("10") int maxWorkers) {

    /** Returns whether workers are processes on this machine. */
    boolean isLocal() {
        return "local".equals(function);
    }
}
