package io.lambdadispatcher.server.admin;

import io.lambdadispatcher.core.Dispatcher;
import io.lambdadispatcher.core.observe.CapacitySnapshot;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.BiConsumer;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * The page {@code /launching}: shows the state of launching, and operates the kill switch. Any
 * thread.
 */
public final class Launching {
    private volatile Supplier<List<CapacitySnapshot>> capacity = List::of;
    private volatile BiConsumer<String, Boolean> toggle = (function, on) -> {};

    public void of(Dispatcher dispatcher) {
        of(dispatcher::capacity, dispatcher::setLaunching);
    }

    void of(Supplier<List<CapacitySnapshot>> snapshots, BiConsumer<String, Boolean> switches) {
        capacity = snapshots;
        toggle = switches;
    }

    /** Returns one line for each function. */
    String show() {
        List<CapacitySnapshot> all = capacity.get();
        return all.isEmpty()
                ? "This dispatcher launches no workers. Start them yourself, or set function.launcher.\n"
                : all.stream().map(Launching::line).collect(Collectors.joining());
    }

    private static String line(CapacitySnapshot of) {
        return String.format(
                Locale.ROOT,
                "%s: %d desired, %d starting, %d ready, %d draining, %d ejected, %d launches in the last minute,"
                        + " %.0f GB-s in the last hour, %.0f GB-s in all: %s%n",
                of.function(),
                of.desired(),
                of.starting(),
                of.ready(),
                of.draining(),
                of.ejected(),
                of.launchesInLastMinute(),
                of.gbSecondsLastHour(),
                of.gbSecondsTotal(),
                of.blockedReason() == null ? "launching" : of.blockedReason());
    }

    /**
     * Switches launching on or off.
     *
     * @param uri has the query {@code to=on} or {@code to=off}, and {@code function=NAME} unless
     *     all functions are meant
     * @throws RefusedException if the query is wrong
     */
    void toggle(String uri) {
        Map<String, String> query = ChangeParameters.of(uri, List.of("to", "function"));
        String to = query.get("to");
        if (to == null || !to.equals("on") && !to.equals("off")) {
            throw ChangeParameters.wrong("to", to, "on or off");
        }
        toggle(query.get("function"), to.equals("on"));
    }

    private void toggle(@Nullable String function, boolean on) {
        List<String> known =
                capacity.get().stream().map(CapacitySnapshot::function).toList();
        if (function != null && !known.contains(function)) {
            throw ChangeParameters.wrong("function", function, "one of " + known);
        }
        (function == null ? known : List.of(function)).forEach(name -> toggle.accept(name, on));
    }
}
