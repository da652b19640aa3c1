package io.lambdadispatcher.spring.dispatcher;

import io.lambdadispatcher.aws.AdvertisedAddress;
import io.lambdadispatcher.aws.LambdaLauncher;
import io.lambdadispatcher.core.DispatcherBuilder;
import io.lambdadispatcher.core.spi.WorkerLauncher;
import java.net.InetSocketAddress;
import java.util.List;
import java.util.Map;

/** Launches workers on AWS Lambda. Loaded only if {@code dispatcher-aws} is on the class path. */
final class LambdaWorkers {
    private LambdaWorkers() {}

    /**
     * Returns the launcher, which the dispatcher closes if it starts.
     *
     * @param lambdas the Lambda function of each function
     */
    static WorkerLauncher launch(
            DispatcherBuilder builder, Map<String, String> lambdas, DispatcherProperties.Workers workers) {
        LambdaLauncher.Builder launcher = LambdaLauncher.builder();
        lambdas.forEach(launcher::function);
        if (workers.advertisedAddresses().isEmpty()) {
            String host = AdvertisedAddress.find().host();
            builder.advertisedAddresses(List.of(InetSocketAddress.createUnresolved(host, 0)));
        }
        LambdaLauncher built = launcher.build();
        lambdas.keySet().forEach(function -> builder.launcher(function, built));
        return built;
    }
}
