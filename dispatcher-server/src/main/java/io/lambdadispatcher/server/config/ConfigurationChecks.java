package io.lambdadispatcher.server.config;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import java.util.stream.Stream;

/** Checks the rules between settings, in the order in which problems are reported. */
final class ConfigurationChecks {
    private ConfigurationChecks() {}

    /**
     * @param complete whether all that was given has been read, and must suffice for a dispatcher.
     *     If not, a setting may be missing
     */
    static void check(
            SettingValues dispatcher,
            List<SettingValues> functions,
            List<SettingValues> ofRoutes,
            boolean complete,
            Consumer<String> problems) {
        new DispatcherChecks(dispatcher, complete, problems).checkDispatcher();
        Map<String, SettingValues> names = new HashMap<>();
        Map<Route, SettingValues> routes = new HashMap<>();
        functions.forEach(function ->
                new FunctionChecks(dispatcher, function, complete, problems).checkNameAndRoute(names, routes));
        for (SettingValues route : ofRoutes) {
            FunctionChecks checks = new FunctionChecks(dispatcher, route, complete, problems);
            checks.checkRoute(routes);
            checks.checkTraffic();
            checks.checkExtensions(names, names.get(route.get(FunctionSettings.FUNCTION_NAME)));
        }
        checkWeights(functions, ofRoutes, problems);
        for (SettingValues function : functions) {
            FunctionChecks checks = new FunctionChecks(dispatcher, function, complete, problems);
            checks.checkFunction();
            checks.checkExtensions(names, null);
        }
    }

    /**
     * Of the functions with one route, one must have a weight above 0. Otherwise, none could get
     * the requests. A function that shares an entry of {@code routes} with none gets all of its
     * requests, also while its weight for other requests is 0.
     */
    private static void checkWeights(
            List<SettingValues> functions, List<SettingValues> ofRoutes, Consumer<String> problems) {
        Map<Route, Integer> sums = new HashMap<>();
        Map<Route, List<SettingValues>> sharing = new LinkedHashMap<>();
        Stream.concat(functions.stream(), ofRoutes.stream()).forEach(function -> {
            Route route = FunctionConfiguration.route(function);
            sums.merge(route.withoutWeight(), route.weight(), Integer::sum);
            sharing.computeIfAbsent(route.withoutWeight(), key -> new ArrayList<>())
                    .add(function);
        });
        sharing.forEach((route, all) -> {
            boolean alone = all.size() == 1 && ofRoutes.contains(all.get(0));
            if (sums.getOrDefault(route, 0) == 0 && !alone) {
                problems.accept(all.get(all.size() - 1)
                        .problem(
                                FunctionSettings.FUNCTION_WEIGHT,
                                "1 or more for one of the functions with the same host, header and path"));
            }
        });
    }
}
