package io.lambdadispatcher.core.internal.launch;

import io.lambdadispatcher.wire.http.PrintableText;
import io.netty.util.concurrent.EventExecutor;
import java.util.Objects;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Asks the launcher from time to time which version of a function's code new workers get. Confined
 * to the executor.
 */
final class VersionFollower {
    private static final Logger log = LoggerFactory.getLogger(VersionFollower.class);

    private final String function;
    private final GuardedLauncher launcher;
    private final EventExecutor executor;
    private final Consumer<String> versions;
    private boolean asking;
    private boolean everAsked;
    private long askedNanos;

    /** Why the version is not known, if the latest answer was a failure. */
    private @Nullable String problem;

    /** @param versions gets each version that the launcher answers */
    VersionFollower(String function, GuardedLauncher launcher, EventExecutor executor, Consumer<String> versions) {
        this.function = function;
        this.launcher = launcher;
        this.executor = executor;
        this.versions = versions;
    }

    /**
     * Asks the launcher, unless it was asked within the interval or has not answered yet.
     *
     * @param early whether to ask before the interval is over
     */
    void ask(long nowNanos, long intervalNanos, boolean early) {
        boolean due = early || !everAsked || nowNanos - askedNanos >= intervalNanos;
        if (!due || asking) {
            return;
        }
        asking = true;
        everAsked = true;
        askedNanos = nowNanos;
        launcher.version().whenComplete((version, error) -> executor.execute(() -> onAnswer(version, error)));
    }

    private void onAnswer(@Nullable String version, @Nullable Throwable error) {
        asking = false;
        String now = error == null ? null : PrintableText.ofFailure(error);
        if (version != null && error == null) {
            versions.accept(version);
        }
        if (Objects.equals(now, problem)) {
            return;
        }
        problem = now;
        if (now == null) {
            log.info("the version of function {} is known again", function);
        } else {
            log.warn("the version of function {} is not known, so workers keep theirs: {}", function, now);
        }
    }
}
