package io.lambdadispatcher.server;

import io.lambdadispatcher.core.Dispatcher;
import io.lambdadispatcher.core.options.CapacityPolicy;
import io.lambdadispatcher.core.options.DownstreamBudget;
import io.lambdadispatcher.server.config.Configuration;
import io.lambdadispatcher.server.config.FunctionConfiguration;
import io.lambdadispatcher.server.config.Route;
import io.lambdadispatcher.server.config.Settings;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Logs at startup what an operator wants to know first: version, configuration, routes, limits. */
final class StartupReport {
    private static final Logger log = LoggerFactory.getLogger(StartupReport.class);
    private static final int MIB = 1024 * 1024;

    private StartupReport() {}

    /**
     * Returns the version of dispatcher-core, which is that of this program. Only jars have a
     * version, and {@code ./dispatcher} runs the program itself from a directory of classes.
     */
    static String version() {
        String version = Dispatcher.class.getPackage().getImplementationVersion();
        return version == null ? "(version not known)" : version;
    }

    static void log(Configuration configuration) {
        Runtime machine = Runtime.getRuntime();
        log.info(
                "Lambda Dispatcher {} on Java {}, {} processors, {} MiB of heap",
                version(),
                Runtime.version(),
                machine.availableProcessors(),
                machine.maxMemory() / MIB);
        Path file = configuration.file();
        log.info("Settings file: {}", file == null ? "none" : file.toAbsolutePath());
        configuration.functions().forEach(function -> log(function, configuration.functions()));
        String table = configuration.find(Settings.FLEET_TABLE);
        if (table != null) {
            log.info(
                    "Fleet {} in {} {}: the limits of workers, launches and spending hold for all its dispatchers"
                            + " together",
                    configuration.get(Settings.FLEET_NAME),
                    configuration.fleetFile() == null ? "table" : "file",
                    table);
        }
        log.info(
                "Limits: {} client connections, {} of one address",
                configuration.get(Settings.HTTP_MAX_CONNECTIONS).all(),
                configuration.get(Settings.HTTP_MAX_CONNECTIONS).perAddress());
    }

    /** Returns which requests a function gets, and its share if others have the same route. */
    static String requests(FunctionConfiguration function, List<FunctionConfiguration> all) {
        Route route = function.route().withoutWeight();
        int weights = all.stream()
                .map(FunctionConfiguration::route)
                .filter(each -> each.withoutWeight().equals(route))
                .mapToInt(Route::weight)
                .sum();
        int own = function.route().weight();
        return weights <= own ? route.describe() : Math.round(100.0 * own / weights) + " % of " + route.describe();
    }

    private static void log(FunctionConfiguration function, List<FunctionConfiguration> all) {
        String name = function.options().name();
        log.info(
                "Function {} serves {}. Workers: {}. Queue: at most {} requests, each for at most {} ms.",
                name,
                requests(function, all),
                workers(function),
                function.options().queueLimit(),
                function.options().queueTimeout().toMillis());
    }

    private static String workers(FunctionConfiguration function) {
        if (function.launcher() == FunctionConfiguration.Launcher.EXTERNAL) {
            return function.direct() == null
                    ? "external"
                    : "none, requests are direct invocations of " + function.directLambda();
        }
        String shares = downstream(function.options().capacity());
        double limit = function.options().launching().gbSecondsPerHour();
        return String.format(
                Locale.ROOT,
                "%d to %d, launched %s, %s",
                function.options().capacity().minWorkers(),
                function.options().capacity().maxWorkers(),
                function.launcher() == FunctionConfiguration.Launcher.LOCAL
                        ? "on this machine"
                        : "as " + function.lambda(),
                (limit == 0 ? "without a spending limit" : "at most " + Math.round(limit) + " GB-seconds an hour")
                        + (shares.isEmpty() ? "" : ", " + shares));
    }

    /** Returns what the limit of downstream connections means; empty if there is none. */
    static String downstream(CapacityPolicy policy) {
        DownstreamBudget budget = policy.downstream();
        return budget == null
                ? ""
                : String.format(
                        Locale.ROOT,
                        "%d downstream connections, %d for each of at most %d workers, %s%d while workers are replaced",
                        budget.connections(),
                        budget.share(),
                        budget.maxWorkers(),
                        policy.isCappedByDownstream() ? "which is fewer than function.max-workers, and " : "",
                        budget.maxAlive());
    }
}
