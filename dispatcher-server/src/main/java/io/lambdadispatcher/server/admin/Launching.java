package io.lambdadispatcher.server.admin;

import static io.netty.handler.codec.http.HttpResponseStatus.CONFLICT;
import static io.netty.handler.codec.http.HttpResponseStatus.SERVICE_UNAVAILABLE;

import io.lambdadispatcher.core.Dispatcher;
import io.lambdadispatcher.core.observe.CapacitySnapshot;
import io.lambdadispatcher.core.observe.RolloutSnapshot;
import io.lambdadispatcher.core.observe.RolloutSnapshot.State;
import io.lambdadispatcher.wire.event.Json;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.BiConsumer;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * The page {@code /launching} shows the state of launching, and operates the kill switch. The page
 * {@code /api/rollout} stops and resumes changes to another version. Any thread.
 */
public final class Launching {
    /** Set after the other fields. {@code null} = the dispatcher is starting. */
    private volatile @Nullable Supplier<List<CapacitySnapshot>> capacity;

    private volatile BiConsumer<String, Boolean> toggle = (function, on) -> {};
    private volatile BiConsumer<String, Boolean> steer = (function, on) -> {};

    public void of(Dispatcher dispatcher) {
        rollouts((function, on) -> {
            if (on) {
                dispatcher.resumeRollout(function);
            } else {
                dispatcher.stopRollout(function);
            }
        });
        of(dispatcher::capacity, dispatcher::setLaunching);
    }

    /** @param resumes resumes (true) or stops the change of a function */
    void rollouts(BiConsumer<String, Boolean> resumes) {
        steer = resumes;
    }

    void of(Supplier<List<CapacitySnapshot>> snapshots, BiConsumer<String, Boolean> switches) {
        toggle = switches;
        capacity = snapshots;
    }

    private List<CapacitySnapshot> capacity() {
        Supplier<List<CapacitySnapshot>> started = capacity;
        if (started == null) {
            throw new RefusedException(SERVICE_UNAVAILABLE, "the dispatcher is starting");
        }
        return started.get();
    }

    /**
     * Returns one line for each function.
     *
     * @throws RefusedException if the dispatcher is starting
     */
    String show() {
        List<CapacitySnapshot> all = capacity();
        return all.isEmpty()
                ? "This dispatcher launches no workers. Start them yourself, or set function.launcher.\n"
                : all.stream().map(Launching::line).collect(Collectors.joining());
    }

    private static String line(CapacitySnapshot of) {
        return String.format(
                Locale.ROOT,
                "%s: %d desired, %d starting, %d ready, %d draining, %d launches in the last minute,"
                        + " %.0f GB-s in the last hour, %.0f GB-s in all: %s%n",
                of.function(),
                of.desired(),
                of.starting(),
                of.ready(),
                of.draining(),
                of.launchesInLastMinute(),
                of.gbSecondsLastHour(),
                of.gbSecondsTotal(),
                (of.blockedReason() == null ? "launching" : of.blockedReason()) + versions(of.rollout()));
    }

    private static String versions(@Nullable RolloutSnapshot of) {
        if (of == null) {
            return "";
        }
        String change = of.newVersion().isEmpty() ? "" : ", " + of.newReady() + " ready of version " + of.newVersion();
        return "; version " + of.version() + change + ", " + of.state().name().toLowerCase(Locale.ROOT)
                + (of.reason().isEmpty() ? "" : ": " + of.reason());
    }

    /**
     * Switches launching on or off.
     *
     * @param uri has the query {@code to=on} or {@code to=off}, and {@code function=NAME} unless
     *     all functions are meant
     * @throws RefusedException if the query is wrong, if the dispatcher is starting, or if it
     *     launches no workers
     */
    void toggle(String uri) {
        Map<String, String> query = ChangeParameters.of(uri, List.of("to", "function"));
        String to = query.get("to");
        if (to == null || !to.equals("on") && !to.equals("off")) {
            throw ChangeParameters.wrong("to", to, "on or off");
        }
        toggle(query.get("function"), to.equals("on"));
    }

    /**
     * Stops or resumes the change of a function to another version.
     *
     * @param uri has the query {@code to=stop} or {@code to=resume}, and {@code function=NAME}
     * @return the function and what happens, as JSON
     * @throws RefusedException if the query is wrong, if the dispatcher is starting, or if there is
     *     nothing to stop or to resume
     */
    byte[] steer(String uri) {
        Map<String, String> query = ChangeParameters.of(uri, List.of("to", "function"));
        String to = query.get("to");
        String function = query.get("function");
        if (to == null || !to.equals("stop") && !to.equals("resume")) {
            throw ChangeParameters.wrong("to", to, "stop or resume");
        }
        boolean resumes = to.equals("resume");
        List<CapacitySnapshot> all = capacity();
        CapacitySnapshot of = all.stream()
                .filter(each -> each.function().equals(function))
                .findFirst()
                .orElseThrow(() -> ChangeParameters.wrong("function", function, "one of " + known()));
        State state = of.rollout() == null ? State.STEADY : of.rollout().state();
        if (resumes ? state != State.STOPPED : state != State.WATCHING && state != State.ROLLING) {
            throw new RefusedException(
                    CONFLICT,
                    "function " + of.function() + " has no change to " + to + ": "
                            + (of.rollout() == null
                                    ? "its version is not watched"
                                    : state.name().toLowerCase(Locale.ROOT)));
        }
        steer.accept(of.function(), resumes);
        return Json.bytes(new TreeMap<>(Map.of("function", of.function(), "to", to)));
    }

    private List<String> known() {
        return capacity().stream().map(CapacitySnapshot::function).toList();
    }

    private void toggle(@Nullable String function, boolean on) {
        List<String> known = known();
        if (known.isEmpty()) {
            throw new RefusedException(
                    CONFLICT, "this dispatcher launches no workers, so launching cannot be switched on or off");
        }
        if (function != null && !known.contains(function)) {
            throw ChangeParameters.wrong("function", function, "one of " + known);
        }
        (function == null ? known : List.of(function)).forEach(name -> toggle.accept(name, on));
    }
}
