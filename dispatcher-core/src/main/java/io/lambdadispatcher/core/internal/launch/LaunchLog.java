package io.lambdadispatcher.core.internal.launch;

import io.lambdadispatcher.core.internal.loop.Incidents;
import io.lambdadispatcher.core.observe.CapacitySnapshot;
import io.lambdadispatcher.core.observe.Incident;
import io.lambdadispatcher.core.observe.RolloutSnapshot;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Reports when the launching of a function's workers is blocked or permitted again, and when they
 * have another version than the base. Logs each step of their change to another version. Confined
 * to the executor.
 */
final class LaunchLog {
    private static final Logger log = LoggerFactory.getLogger(LaunchLog.class);

    private final String function;
    private final Incidents incidents;
    private @Nullable String obstacle;
    private @Nullable String difference;
    private @Nullable RolloutSnapshot rollout;

    LaunchLog(String function, Incidents incidents) {
        this.function = function;
        this.incidents = incidents;
    }

    /** Logs the difference from the snapshot before. */
    void onSnapshot(CapacitySnapshot now) {
        onRollout(now.rollout());
        onState(Incident.Kind.LAUNCHES_BLOCKED, obstacle, now.blockedReason());
        obstacle = now.blockedReason();
        String differs = now.base() == null ? null : now.base().versionDifference();
        onState(Incident.Kind.VERSIONS_DIFFER, difference, differs);
        difference = differs;
    }

    private void onState(Incident.Kind kind, @Nullable String before, @Nullable String now) {
        if (now == null && before != null) {
            incidents.end(kind, function, "");
        } else if (now != null && !now.equals(before)) {
            incidents.begin(kind, function, "", now);
        }
    }

    private void onRollout(@Nullable RolloutSnapshot now) {
        RolloutSnapshot earlier = rollout;
        rollout = now;
        if (now == null || earlier != null && isSameStep(earlier, now)) {
            return;
        }
        String version = "version " + now.version();
        String next = "version " + now.newVersion();
        switch (now.state()) {
            case STEADY -> log.info("function {}: workers have {}", function, version);
            case WATCHING ->
                log.info(
                        "function {}: {} % of the workers change from {} to {}",
                        function, now.percent(), version, next);
            case ROLLING -> log.info("function {}: workers of {} replace those of {}", function, next, version);
            case STOPPED ->
                log.warn(
                        "function {}: the change to {} has stopped, and {} keeps serving: {}",
                        function,
                        next,
                        version,
                        now.reason());
        }
    }

    private static boolean isSameStep(RolloutSnapshot a, RolloutSnapshot b) {
        return a.state() == b.state()
                && a.percent() == b.percent()
                && a.version().equals(b.version())
                && (a.newVersion().equals(b.newVersion()) || b.newVersion().isEmpty());
    }
}
