package io.lambdadispatcher.core.internal.fleet;

import io.lambdadispatcher.wire.event.Json;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * What one dispatcher tells the others, about once a second.
 *
 * @param beat increases with each write, so that others see that the dispatcher lives
 * @param addresses the addresses that workers dial, as {@code host:port}
 * @param zone its availability zone; empty = not known
 * @param version its software version
 * @param demands what its clients need of each function
 * @param told how many messages it has sent to the others
 * @param messages the last ones
 */
record MemberEntry(
        long beat,
        List<String> addresses,
        String zone,
        String version,
        Map<String, MemberDemand> demands,
        long told,
        List<String> messages) {
    private static final int FORMAT = 1;

    /** Stands for an entry that could never be read. */
    static final MemberEntry UNKNOWN = new MemberEntry(0, List.of(), "", "", Map.of(), 0, List.of());

    /**
     * @param streams worker streams that the dispatcher's clients need
     * @param limits its limits of the function, in one line. All dispatchers should have the same
     */
    record MemberDemand(double streams, String limits) {}

    String text() {
        Map<String, Object> all = new LinkedHashMap<>();
        all.put("format", FORMAT);
        all.put("beat", beat);
        all.put("addresses", addresses);
        all.put("zone", zone);
        all.put("version", version);
        Map<String, Object> functions = new LinkedHashMap<>();
        demands.forEach((function, demand) -> functions.put(
                function, Map.of("milliStreams", Math.round(demand.streams() * 1000), "limits", demand.limits())));
        all.put("functions", functions);
        all.put("told", told);
        all.put("messages", messages);
        return Json.write(all);
    }

    /** @throws IllegalArgumentException if the text is not that of a dispatcher */
    static MemberEntry parse(String text) {
        try {
            Map<?, ?> all = JsonParts.object(text);
            Map<String, MemberDemand> demands = new LinkedHashMap<>();
            ((Map<?, ?>) JsonParts.expect(all.get("functions"))).forEach((function, value) -> {
                Map<?, ?> demand = (Map<?, ?>) JsonParts.expect(value);
                demands.put(
                        String.valueOf(function),
                        new MemberDemand(
                                JsonParts.number(demand.get("milliStreams")) / 1000.0,
                                JsonParts.text(demand.get("limits"))));
            });
            return new MemberEntry(
                    JsonParts.number(all.get("beat")),
                    JsonParts.texts(all.get("addresses")),
                    JsonParts.text(all.get("zone")),
                    JsonParts.text(all.get("version")),
                    demands,
                    // Dispatchers without messages have written entries, too.
                    all.containsKey("told") ? JsonParts.number(all.get("told")) : 0,
                    all.containsKey("messages") ? JsonParts.texts(all.get("messages")) : List.of());
        } catch (ClassCastException e) {
            throw new IllegalArgumentException("a member is missing or has another type: " + e.getMessage(), e);
        }
    }
}
