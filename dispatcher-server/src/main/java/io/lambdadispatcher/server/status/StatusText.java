package io.lambdadispatcher.server.status;

import static io.lambdadispatcher.server.status.Table.Column.number;
import static io.lambdadispatcher.server.status.Table.Column.text;

import java.math.BigDecimal;
import java.math.MathContext;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;

/**
 * The documents of {@code /api} as plain text: what needs attention, and a table of each document.
 * Headings and states are the words of the documents.
 */
final class StatusText {
    /** Of latest requests, failures and launches, more than this hide the rest. */
    private static final int MOST_LATEST = 20;

    private static final double LONG_LAG_MILLIS = 250;
    private static final double FULL_HEAP = 0.97;
    private static final String FUNCTION = "function";

    private static final Table FUNCTIONS = new Table(
            text("FUNCTION", "name"),
            amount("QUEUED", "queued"),
            number("REQ/S", of -> amount(of.last("history", 0))),
            number("FAIL/S", of -> amount(of.last("history", 1))),
            number("5XX/S", of -> amount(of.last("history", 7))),
            number("P50", of -> latency(of.last("latencies", 4))),
            number("P99", of -> latency(of.last("latencies", 5))),
            number("BUSY", of -> part(of.number("streams") - of.number("streamsFree"), of.number("streams"))),
            number(
                    "READY",
                    of -> of.has("workersDesired")
                            ? part(
                                    of.number("workersReady") - of.number("workersReadyBase"),
                                    of.number("workersDesired"))
                            : part(of.number("workersReady"), of.number("workersConnected"))),
            amount("STARTING", "workersStarting"),
            amount("DRAINING", "workersDraining"),
            amount("EJECTED", "workersEjected"),
            amount("LAUNCHES/MIN", "launchesInLastMinute"),
            amount("GB-S/HOUR", "gbSecondsLastHour"),
            number("COST", of -> dollars(of, "dollars")),
            number("IF-DIRECT", of -> dollars(of, "dollarsIfDirect")));

    private static final Table LIMITS = new Table(
            text("FLEET-LIMITS", "name"),
            number("WORKERS", of -> part(of.number("workers"), of.number("workersMax"))),
            number("LAUNCHES/MIN", of -> part(of.number("launchesInLastMinute"), of.number("launchesPerMinute"))),
            number("GB-S/HOUR", of -> part(of.number("gbSecondsLastHour"), of.number("gbSecondsPerHour"))),
            number("LAUNCHING", of -> of.flag("launching") ? "on" : "off"));

    private static final Table WORKERS = new Table(
            text("WORKER", "id"),
            text("STATE", "state"),
            number("BUSY", of -> part(of.number("busy"), of.number("limit"))),
            amount("FAILED", "failed"),
            amount("DONE", "completed"),
            text("FUNCTION", FUNCTION),
            text("VERSION", "version"),
            duration("AGE", "ageSeconds", 1),
            duration("LEFT", "secondsToDeadline", 1),
            number("CPU", of -> percent(of, "cpu")),
            number("HEAP", of -> percent(of, "heap")),
            number("LAG", of -> of.has("loopLagMillis") ? amount(of.number("loopLagMillis")) + "ms" : Members.UNKNOWN),
            text("WHY", StatusText::why),
            text("ADDRESS", "address"),
            text("LOG", "logStream"));

    private static final Table REQUESTS = new Table(
            text("REQUEST", StatusText::request),
            duration("AGE", "ageMillis", 1000),
            text("STATE", "state"),
            text("FUNCTION", FUNCTION),
            text("WORKER", "worker"),
            text("CLIENT", "client"),
            text("PROTOCOL", "protocol"),
            amount("ATTEMPTS", "attempts"),
            number("RECEIVED", of -> bytes(of.number("requestBytes"))),
            number("SENT", of -> bytes(of.number("responseBytes"))),
            number("UNREAD", of -> bytes(of.number("unreadBytes"))));

    private static final Table FAILURES = new Table(
            text("FAILURE", "reason"),
            text("TIME", StatusText::time),
            amount("STATUS", "status"),
            duration("AFTER", "millis", 1000),
            text("REQUEST", StatusText::request),
            text("FUNCTION", FUNCTION),
            text("WORKER", "worker"));

    private static final Table LAUNCHES = new Table(
            text("LAUNCH", "outcome"),
            text("TIME", StatusText::time),
            duration("LIFE", "seconds", 1),
            text("FUNCTION", FUNCTION),
            text("DETAIL", "detail"),
            text("WORKER", "worker"));

    private final StringBuilder text = new StringBuilder();
    private final int width;

    private StatusText(int width) {
        this.width = width;
    }

    /**
     * Returns lines that are no longer than the width, in printable ASCII.
     *
     * @param title the first line
     * @param all the documents by name
     * @param problems why documents are not known
     * @param maxRows of each table
     */
    static String of(String title, Members all, List<String> problems, int width, int maxRows) {
        StatusText status = new StatusText(width);
        Members fleet = all.members("fleet");
        status.sentence(title);
        status.fleet(fleet);
        status.warnings(all, fleet, problems, maxRows);
        int latest = Math.min(maxRows, MOST_LATEST);
        FUNCTIONS.append(status.text, functions(all), maxRows, width);
        LIMITS.append(status.text, fleet.list("functions"), maxRows, width);
        REQUESTS.append(status.text, all.list("requests"), latest, width);
        FAILURES.append(status.text, all.list("failures"), latest, width);
        LAUNCHES.append(status.text, all.list("launches"), latest, width);
        WORKERS.append(status.text, workers(all), maxRows, width);
        return status.text.toString();
    }

    // The order of rows: what needs attention comes first.

    private static List<Members> functions(Members all) {
        return all.list("functions").stream()
                .sorted(Comparator.comparing((Members of) -> of.number("queued") == 0 && !of.has("launchesBlocked")))
                .toList();
    }

    private static List<Members> workers(Members all) {
        return all.list("workers").stream()
                .sorted(Comparator.comparingDouble(StatusText::sickness)
                        .thenComparingDouble(worker -> worker.number("busy"))
                        .reversed())
                .toList();
    }

    /** The rule of the live page. */
    private static double sickness(Members worker) {
        int state = switch (worker.text("state")) {
            case "ejected" -> 50;
            case "unready" -> 40;
            default -> 0;
        };
        double completed = worker.number("completed");
        double failing = completed == 0 ? 0 : worker.number("failed") / completed;
        return state + failing * 10 + (isLate(worker) ? 8 : 0) + (isFull(worker) ? 8 : 0);
    }

    private static boolean isLate(Members worker) {
        return worker.number("loopLagMillis") > LONG_LAG_MILLIS;
    }

    private static boolean isFull(Members worker) {
        return worker.number("heap") > FULL_HEAP;
    }

    // Sentences.

    private void fleet(Members fleet) {
        List<Members> members = fleet.list("members");
        if (!members.isEmpty()) {
            long alive = members.stream().filter(member -> member.flag("alive")).count();
            sentence("Fleet: " + part(alive, members.size()) + " dispatchers alive, lease "
                    + (fleet.has("leaseAgeMillis")
                            ? "renewed " + duration(fleet.number("leaseAgeMillis") / 1000) + " ago"
                            : "never renewed"));
        }
    }

    private void warnings(Members all, Members fleet, List<String> problems, int most) {
        List<String> warnings = new ArrayList<>(problems);
        if (fleet.has("leaseValid") && !fleet.flag("leaseValid")) {
            warnings.add("fleet: cut off from the ledger. No launches until the lease is renewed.");
        }
        for (Members of : fleet.list("functions")) {
            add(warnings, of, "name", "conflict", "limits differ: ");
        }
        for (Members of : all.list("functions")) {
            if (of.number("queued") > 0) {
                warnings.add(of.text("name") + ": queued requests: " + amount(of.number("queued")) + ", "
                        + of.text("waitReason") + ": " + of.text("waitDetail"));
            }
            add(warnings, of, "name", "launchesBlocked", "");
            Members rollout = of.members("rollout");
            if (rollout.has("reason")) {
                warnings.add(of.text("name") + ": rollout " + rollout.text("state") + ": " + rollout.text("reason"));
            }
            for (Members breaker : of.list("breakers")) {
                if (breaker.number("passingPercent") < 100) {
                    warnings.add(of.text("name") + ": breaker " + breaker.text("name") + " lets "
                            + amount(breaker.number("passingPercent")) + "% of the requests pass: "
                            + breaker.text("reason"));
                }
            }
        }
        for (Members worker : workers(all)) {
            add(warnings, worker, "id", "ejected", "ejected: ");
            if (isLate(worker)) {
                warnings.add(
                        worker.text("id") + ": event loop late by " + amount(worker.number("loopLagMillis")) + "ms");
            }
            if (isFull(worker)) {
                warnings.add(worker.text("id") + ": " + percent(worker, "heap") + " of the heap in use");
            }
        }
        if (!warnings.isEmpty()) {
            text.append("\nWARNING\n");
            warnings.stream().limit(most).forEach(this::sentence);
            if (warnings.size() > most) {
                sentence(".. " + (warnings.size() - most) + " more");
            }
        }
    }

    private static void add(List<String> warnings, Members of, String name, String reason, String what) {
        if (of.has(reason)) {
            warnings.add(of.text(name) + ": " + what + of.text(reason));
        }
    }

    /** Breaks a sentence at spaces, and words that are longer than a line. */
    private void sentence(String sentence) {
        String rest = Table.ascii(sentence).strip();
        while (rest.length() > width) {
            int space = rest.lastIndexOf(' ', width);
            int end = space > 0 ? space : width;
            text.append(rest.substring(0, end).stripTrailing()).append('\n');
            rest = rest.substring(end).strip();
        }
        text.append(rest).append('\n');
    }

    // Cells.

    private static Table.Column amount(String heading, String member) {
        return number(heading, of -> of.has(member) ? amount(of.number(member)) : Members.UNKNOWN);
    }

    private static Table.Column duration(String heading, String member, double perSecond) {
        return number(heading, of -> of.has(member) ? duration(of.number(member) / perSecond) : Members.UNKNOWN);
    }

    private static String amount(double value) {
        return String.format(Locale.ROOT, value == Math.rint(value) ? "%,.0f" : "%,.1f", value);
    }

    private static String part(double part, double whole) {
        return amount(part) + "/" + amount(whole);
    }

    private static String percent(Members of, String member) {
        return of.has(member) ? Math.round(of.number(member) * 100) + "%" : Members.UNKNOWN;
    }

    /** Two digits of a small amount are enough to compare it with another one. */
    private static String dollars(Members of, String member) {
        double dollars = of.number(member);
        return !of.has(member)
                ? Members.UNKNOWN
                : dollars >= 1
                        ? String.format(Locale.ROOT, "$%,.2f", dollars)
                        : "$"
                                + new BigDecimal(dollars)
                                        .round(new MathContext(2))
                                        .toPlainString();
    }

    private static String bytes(double value) {
        return value < 1e3
                ? amount(value) + "B"
                : value < 1e6
                        ? String.format(Locale.ROOT, "%.1fKB", value / 1e3)
                        : String.format(Locale.ROOT, "%,.1fMB", value / 1e6);
    }

    private static String duration(double seconds) {
        if (seconds < 10) {
            return amount(Math.round(seconds * 10) / 10.0) + "s";
        }
        long whole = Math.round(seconds);
        return whole < 60
                ? whole + "s"
                : whole < 3600 ? whole / 60 + "m" + whole % 60 + "s" : whole / 3600 + "h" + whole % 3600 / 60 + "m";
    }

    /** @param micros at most 0 if there was no request */
    private static String latency(double micros) {
        double millis = micros / 1000;
        return micros <= 0
                ? Members.UNKNOWN
                : millis < 10
                        ? String.format(Locale.ROOT, "%.1fms", millis)
                        : millis < 1000 ? Math.round(millis) + "ms" : duration(millis / 1000);
    }

    /** Returns why a worker drains, or else why it was launched. */
    private static String why(Members of) {
        return of.text(of.has("endReason") ? "endReason" : "launchReason");
    }

    private static String request(Members of) {
        return of.text("method") + " " + of.text("path");
    }

    /** Returns hours, minutes and seconds of a time such as 2026-11-23T12:30:45Z. */
    private static String time(Members of) {
        String time = of.text("time");
        return time.length() < "2026-11-23T12:30:45".length() ? time : time.substring(11, 19);
    }
}
