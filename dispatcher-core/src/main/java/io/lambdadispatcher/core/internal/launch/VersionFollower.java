package io.lambdadispatcher.core.internal.launch;

import io.lambdadispatcher.core.internal.capacity.NamedVersion;
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
    private final Consumer<NamedVersion> versions;
    private boolean asking;
    private long askedNanos;
    /** The version of the base at the latest question; {@code null} = none was asked. */
    private @Nullable String askedFor;

    /** Why the version is not known, if the latest answer was a failure. */
    private @Nullable String problem;

    /** @param versions gets each version that the launcher answers */
    VersionFollower(
            String function, GuardedLauncher launcher, EventExecutor executor, Consumer<NamedVersion> versions) {
        this.function = function;
        this.launcher = launcher;
        this.executor = executor;
        this.versions = versions;
    }

    /**
     * Asks the launcher, unless it was asked for the same version of the base within the interval,
     * or has not answered yet.
     *
     * @param early whether to ask before the interval is over
     * @param base the version that new workers should match; empty = they should get the launcher's
     */
    void ask(long nowNanos, long intervalNanos, boolean early, String base) {
        boolean due = early || !base.equals(askedFor) || nowNanos - askedNanos >= intervalNanos;
        if (!due || asking) {
            return;
        }
        asking = true;
        askedFor = base;
        askedNanos = nowNanos;
        launcher.version(base).whenComplete((version, error) -> executor.execute(() -> onAnswer(version, error)));
    }

    private void onAnswer(@Nullable NamedVersion version, @Nullable Throwable error) {
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
