package io.lambdadispatcher.core.internal.assembly;

import io.lambdadispatcher.core.internal.fleet.BudgetLimits;
import io.lambdadispatcher.core.options.DirectOptions;
import io.lambdadispatcher.core.options.FunctionOptions;
import io.lambdadispatcher.core.options.ListenerOptions;
import java.util.List;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Finds options of a dispatcher that are missing or contradict each other. */
final class BuilderChecks {
    private static final Logger log = LoggerFactory.getLogger(BuilderChecks.class);

    private final BuilderOptions options;

    private BuilderChecks(BuilderOptions options) {
        this.options = options;
    }

    /** @throws IllegalArgumentException if an option is missing or contradicts another */
    static void verify(BuilderOptions options) {
        BuilderChecks checks = new BuilderChecks(options);
        checks.verifyListeners();
        checks.verifyFunctions();
        checks.verifyFleet();
        checks.verifyLaunching();
        checks.warnOfUnreachableFunctions();
    }

    static void requirePublic(ListenerOptions listener) {
        if (listener.isForWorkers()) {
            throw new IllegalArgumentException(
                    "publicListener: ListenerOptions.workers(...), expected plain(...) or tls(...)");
        }
    }

    private void verifyListeners() {
        ListenerOptions workers = options.workers.listener;
        if (workers == null) {
            throw new IllegalArgumentException("workerListener: not set, expected the address that workers dial");
        }
        if (workers.isProxyProtocol()) {
            throw new IllegalArgumentException(
                    "workerListener: withProxyProtocol() is set, expected it only for public listeners");
        }
        options.clients.listeners.forEach(BuilderChecks::requirePublic);
        if (options.eventLoops < 1) {
            throw new IllegalArgumentException("eventLoops: " + options.eventLoops + ", expected 1 or more");
        }
    }

    private void verifyFunctions() {
        if (options.functions.isEmpty()) {
            throw new IllegalArgumentException("function: not set, expected at least one function");
        }
        List<String> names =
                options.functions.stream().map(FunctionOptions::name).toList();
        if (names.stream().distinct().count() < names.size()) {
            throw new IllegalArgumentException("function: expected different names, got " + names);
        }
        if (!names.containsAll(options.functionFilters.keySet())) {
            throw new IllegalArgumentException(
                    "filter: for " + options.functionFilters.keySet() + ", expected names of functions, of " + names);
        }
    }

    private void verifyFleet() {
        if (options.launching.ledger == null) {
            return;
        }
        if (options.workers.secrets == null) {
            throw new IllegalArgumentException("secret: not set, expected the secret of all members of the fleet");
        }
        if (!options.launching.history.isEmpty()) {
            throw new IllegalArgumentException(
                    "launchHistory: set for a member of a fleet, expected none, because the ledger has it");
        }
        options.functions.forEach(BuilderChecks::requireRoomInLedger);
    }

    static void requireRoomInLedger(FunctionOptions function) {
        int max = function.capacity().maxWorkers();
        if (max > BudgetLimits.MOST_WORKERS) {
            throw new IllegalArgumentException("function '" + function.name() + "': a maximum of " + max
                    + " workers, expected at most " + BudgetLimits.MOST_WORKERS
                    + " in a fleet, because one entry of the ledger names all of them");
        }
    }

    private void verifyLaunching() {
        options.launching.launchers.keySet().forEach(function -> requireConfigured("launcher", function));
        options.functions.forEach(this::requireLauncher);
        options.launching.direct.keySet().forEach(this::requireInvoker);
        options.workers.inProcess.keySet().forEach(this::requireWorkers);
    }

    private void requireLauncher(FunctionOptions function) {
        int max = function.capacity().maxWorkers();
        BuilderOptions.Launching launching = options.launching;
        if (max > 0 && launching.launcher == null && !launching.launchers.containsKey(function.name())) {
            throw new IllegalArgumentException("launcher: not set for function '" + function.name()
                    + "', expected a launcher because maxWorkers is " + max);
        }
    }

    private void requireInvoker(String function) {
        requireConfigured("direct", function);
        if (options.launching.invoker == null) {
            throw new IllegalArgumentException(
                    "invoker: not set, expected an invoker for the direct function '" + function + "'");
        }
    }

    /** A handler of this process is a worker, which a function without workers never uses. */
    private void requireWorkers(String function) {
        requireConfigured("inProcess", function);
        DirectOptions direct = options.launching.direct.get(function);
        if (direct != null && direct.spilloverAfter() == null) {
            throw new IllegalArgumentException("inProcess: '" + function
                    + "', expected a function whose requests are not all direct: set spilloverAfter");
        }
    }

    private void requireConfigured(String what, String name) {
        if (options.functions.stream().noneMatch(function -> function.name().equals(name))) {
            throw new IllegalArgumentException(what + ": '" + name + "', expected the name of one of the functions");
        }
    }

    private void warnOfUnreachableFunctions() {
        for (FunctionOptions function : options.functions) {
            String name = function.name();
            boolean launched = function.capacity().maxWorkers() > 0;
            if (options.workers.secrets == null
                    && !launched
                    && !options.launching.direct.containsKey(name)
                    && !options.workers.inProcess.containsKey(name)
                    && !options.workers.functionSecrets.containsKey(name)) {
                log.warn(
                        "no secret is set, so the dispatcher has a random one, and no worker of function {} can"
                                + " connect, because nothing launches it. Call secret()",
                        name);
            }
        }
    }
}
