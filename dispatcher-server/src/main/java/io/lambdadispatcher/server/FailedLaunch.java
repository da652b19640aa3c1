package io.lambdadispatcher.server;

import io.lambdadispatcher.core.observe.DispatcherObserver;
import io.lambdadispatcher.server.config.Configuration;
import io.lambdadispatcher.server.config.FunctionConfiguration.Launcher;
import java.util.Set;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Remembers how the first worker failed, of those that are processes on this machine. Any thread.
 */
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

    /** @return {@code null}: none has failed so far */
    @Nullable
    String inOneLine() {
        return first;
    }

    /** On the event loop of the function; of two at once either is the first. */
    @Override
    public void onLaunchEnd(String function, String workerId, boolean failed, String detail) {
        if (failed && first == null && functions.contains(function)) {
            first = "a worker of function " + function + " failed: " + detail;
        }
    }
}
