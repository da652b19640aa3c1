package io.lambdadispatcher.server;

import io.lambdadispatcher.core.observe.DispatcherObserver;
import io.lambdadispatcher.server.config.Configuration;
import io.lambdadispatcher.server.config.FunctionConfiguration.Launcher;
import java.util.Set;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** Remembers why the first local worker failed. Any thread. */
final class FailedLaunch implements DispatcherObserver {
    private final Set<String> functions;
    private volatile @Nullable String first;

    private FailedLaunch(Set<String> functions) {
        this.functions = functions;
    }

    static FailedLaunch ofLocalWorkers(Configuration configuration) {
        return new FailedLaunch(configuration.functions().stream()
                .filter(function -> function.launcher() == Launcher.LOCAL)
                .map(function -> function.options().name())
                .collect(Collectors.toUnmodifiableSet()));
    }

    /** @return {@code null} = no worker has failed so far */
    @Nullable
    String inOneLine() {
        return first;
    }

    /**
     * Runs on the event loop of the function. If two workers fail concurrently, either may count as
     * the first.
     */
    @Override
    public void onLaunchEnd(String function, String workerId, boolean failed, String detail) {
        if (failed && first == null && functions.contains(function)) {
            first = "a worker of function " + function + " failed: " + detail;
        }
    }
}
