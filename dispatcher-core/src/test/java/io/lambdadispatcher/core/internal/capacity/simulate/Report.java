package io.lambdadispatcher.core.internal.capacity.simulate;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.HdrHistogram.Histogram;

/** The result of a run, as a table and as JSON. */
final class Report {
    private static final int MOST_LOOKS = 1000;

    private final Scenario scenario;
    private final Simulation run;
    private final List<Row> rows = new ArrayList<>();

    private record Row(String name, String dispatch, String direct) {}

    Report(Scenario scenario, Simulation run) {
        this.scenario = scenario;
        this.run = run;
        fill();
    }

    private void fill() {
        SimulationTally dispatch = run.dispatch.tally;
        SimulationTally direct = run.direct.tally;
        Timeline timeline = run.dispatch.timeline;
        row("requests", count(dispatch.arrived), count(direct.arrived));
        row("answered", count(dispatch.answered), count(direct.answered));
        row(
                "refused or failed, expired",
                count(dispatch.refused) + ", " + count(dispatch.expired),
                count(direct.refused) + ", 0");
        row("cut by the end of a worker", count(dispatch.cut), "");
        row("requests/s", decimal(dispatch.answersPerSecond()), decimal(direct.answersPerSecond()));
        row("latency ms: mean", mean(dispatch.latency), mean(direct.latency));
        row("  p50, p99", quantiles(dispatch.latency), quantiles(direct.latency));
        row("  max", millis(dispatch.latency.getMaxValue()), millis(direct.latency.getMaxValue()));
        row("queue or cold start ms: p50, p99", quantiles(dispatch.wait), quantiles(direct.wait));
        row("  max", millis(dispatch.wait.getMaxValue()), millis(direct.wait.getMaxValue()));
        row("  share above 0", share(dispatch.wait), share(direct.wait));
        row("workers or environments: mean", decimal(timeline.meanAlive()), "");
        row("  fewest, most ready", timeline.fewestReady() + ", " + timeline.mostReady(), "");
        row(
                "  most wanted, most there",
                timeline.mostWanted() + ", " + timeline.mostAlive(),
                count(run.direct.mostBusy));
        row("launches or cold starts", count(dispatch.launches), count(direct.launches));
        row("  failed, throttled", both(dispatch), both(direct));
        row("  most in 60 s", count(mostLaunchesInMinute(run.dispatch.launchNanos)), "");
        row("GB-seconds", decimal(dispatch.gbSeconds), decimal(direct.gbSeconds));
        row("dollars", dollars(run.dispatchDollars()), dollars(run.directDollars()));
        row("  ratio", run.directDollars() == 0 ? "" : decimal(run.dispatchDollars() / run.directDollars()), "1");
    }

    private void row(String name, String dispatch, String direct) {
        rows.add(new Row(name, dispatch, direct));
    }

    private static String both(SimulationTally tally) {
        return count(tally.launchFailures) + ", " + count(tally.launchThrottles);
    }

    /**
     * @param launchNanos times of launches, in ascending order
     * @return the maximum in any 60 seconds
     */
    static long mostLaunchesInMinute(List<Long> launchNanos) {
        int most = 0;
        int first = 0;
        for (int last = 0; last < launchNanos.size(); last++) {
            while (launchNanos.get(last) - launchNanos.get(first) >= 60_000_000_000L) {
                first++;
            }
            most = Math.max(most, last - first + 1);
        }
        return most;
    }

    String table() {
        StringBuilder table = new StringBuilder();
        table.append(scenario.option()).append(": ").append(scenario.meaning).append('\n');
        table.append(line("(simulated)", "dispatch", "direct"));
        rows.forEach(row -> table.append(line(row.name, row.dispatch, row.direct)));
        if (!scenario.published.isEmpty()) {
            table.append(scenario.published).append('\n');
        }
        return table.toString();
    }

    private static String line(String name, String dispatch, String direct) {
        return String.format(Locale.ROOT, "%-34s %18s %18s%n", name, dispatch, direct)
                        .stripTrailing() + "\n";
    }

    String json() {
        StringBuilder json = new StringBuilder("{\n\"scenario\": \"" + scenario.option() + "\",\n\"settings\": {");
        String comma = "";
        for (Map.Entry<SimulationSetting, Double> each : run.settings.values().entrySet()) {
            json.append(comma)
                    .append("\n  \"")
                    .append(each.getKey().option())
                    .append("\": ")
                    .append(each.getValue());
            comma = ",";
        }
        json.append("\n},\n\"dispatch\": ").append(tally(run.dispatch.tally, run.dispatchDollars()));
        json.append(",\n\"direct\": ").append(tally(run.direct.tally, run.directDollars()));
        json.append(",\n\"looks\": [");
        comma = "";
        for (Timeline.Look look : thinned(run.dispatch.timeline.counted())) {
            json.append(comma).append("\n  ").append(json(look));
            comma = ",";
        }
        return json.append("\n]\n}\n").toString();
    }

    private static String tally(SimulationTally tally, double dollars) {
        return String.format(
                Locale.ROOT,
                "{\"arrived\": %d, \"answered\": %d, \"refused\": %d, \"expired\": %d, \"cut\": %d, \"perSecond\": %.3f,"
                        + " \"latencyNanos\": %s, \"waitNanos\": %s, \"launches\": %d, \"launchFailures\": %d,"
                        + " \"launchThrottles\": %d, \"gbSeconds\": %.3f, \"dollars\": %.6f}",
                tally.arrived,
                tally.answered,
                tally.refused,
                tally.expired,
                tally.cut,
                tally.answersPerSecond(),
                json(tally.latency),
                json(tally.wait),
                tally.launches,
                tally.launchFailures,
                tally.launchThrottles,
                tally.gbSeconds,
                dollars);
    }

    private static String json(Histogram histogram) {
        return String.format(
                Locale.ROOT,
                "{\"mean\": %.0f, \"p50\": %d, \"p99\": %d, \"max\": %d}",
                histogram.getMean(),
                histogram.getValueAtPercentile(50),
                histogram.getValueAtPercentile(99),
                histogram.getMaxValue());
    }

    private static String json(Timeline.Look look) {
        return String.format(
                Locale.ROOT,
                "{\"seconds\": %.3f, \"wanted\": %d, \"launched\": %d, \"ready\": %d, \"draining\": %d, \"busy\": %d,"
                        + " \"pending\": %d, \"arrived\": %d}",
                look.seconds(),
                look.wanted(),
                look.launched(),
                look.ready(),
                look.draining(),
                look.busy(),
                look.pending(),
                look.arrived());
    }

    private static List<Timeline.Look> thinned(List<Timeline.Look> looks) {
        int step = Math.max(1, looks.size() / MOST_LOOKS);
        return java.util.stream.IntStream.range(0, looks.size())
                .filter(i -> i % step == 0)
                .mapToObj(looks::get)
                .toList();
    }

    private static String mean(Histogram histogram) {
        return millis((long) histogram.getMean());
    }

    private static String quantiles(Histogram histogram) {
        return millis(histogram.getValueAtPercentile(50)) + ", " + millis(histogram.getValueAtPercentile(99));
    }

    /** Returns the share of the values that are not 0. */
    private static String share(Histogram histogram) {
        long all = histogram.getTotalCount();
        long zero = histogram.getCountAtValue(0);
        return String.format(Locale.ROOT, "%.2f %%", all == 0 ? 0 : 100.0 * (all - zero) / all);
    }

    private static String millis(long nanos) {
        return String.format(Locale.ROOT, "%,.0f", nanos / 1e6);
    }

    private static String decimal(double value) {
        return String.format(Locale.ROOT, value < 10 ? "%.2f" : "%,.1f", value);
    }

    private static String dollars(double value) {
        return String.format(Locale.ROOT, value < 1 ? "%.4f" : "%,.2f", value);
    }

    private static String count(long value) {
        return String.format(Locale.ROOT, "%,d", value);
    }
}
