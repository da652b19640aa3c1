package io.lambdadispatcher.server.top;

import io.lambdadispatcher.server.top.Line.Style;
import io.lambdadispatcher.server.top.Table.Row;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Collectors;

/**
 * Arranges the state of a dispatcher on a screen. It has the order and the words of the live page:
 * functions, workers, requests in progress, failures, launches. The fleet is one line.
 */
final class Screen {
    private static final String INDENT = "  ";
    private static final int MANY_REQUESTS = 200;
    private static final double LONG_LAG_MILLIS = 250;
    private static final double FULL_HEAP = 0.97;

    private final int columns;
    private final int rows;

    Screen(int columns, int rows) {
        this.columns = columns;
        this.rows = rows;
    }

    /**
     * Returns at most as many lines as the screen has, none of them wider.
     *
     * @param status the first line
     */
    List<Line> draw(Line status, Members state) {
        List<Line> lines = new ArrayList<>();
        lines.add(status);
        Members fleet = state.members("fleet");
        if (!fleet.list("members").isEmpty()) {
            lines.add(fleet(fleet));
        }
        lines.addAll(functions(state.list("functions")));
        lines.addAll(tables(
                List.of(
                        workers(count(state, "workers"), state.list("workers")),
                        requests(count(state, "requests"), state.list("requests")),
                        failures(state.list("failures")),
                        launches(state.list("launches"))),
                rows - lines.size()));
        return lines.stream().limit(rows).map(line -> line.cut(columns)).toList();
    }

    private static Line fleet(Members fleet) {
        List<Members> members = fleet.list("members");
        long alive = members.stream().filter(member -> member.flag("alive")).count();
        List<String> conflicts = fleet.list("functions").stream()
                .filter(of -> of.has("conflict"))
                .map(of -> of.text("name"))
                .toList();
        boolean valid = fleet.flag("leaseValid");
        String renewed = fleet.has("leaseAgeMillis")
                ? "lease renewed " + duration(fleet, "leaseAgeMillis", 1000) + " ago."
                : "lease never renewed.";
        String state = valid
                ? alive + " of " + Words.count(members.size(), "dispatcher", "dispatchers") + " alive, " + renewed
                : "cut off from the ledger, " + renewed + " No launches until it is renewed.";
        String text = "Fleet: " + state
                + (conflicts.isEmpty() ? "" : " Limits differ: " + String.join(", ", conflicts) + ".");
        boolean healthy = alive == members.size() && conflicts.isEmpty();
        return new Line(text, !valid ? Style.BAD : healthy ? Style.GOOD : Style.WARN);
    }

    // Functions.

    /** Uses at most half of the screen, but shows at least one function. */
    private List<Line> functions(List<Members> functions) {
        List<Members> sorted = functions.stream()
                .sorted(Comparator.comparing((Members of) -> of.number("queued") == 0 && !of.has("launchesBlocked")))
                .toList();
        List<Line> lines = new ArrayList<>();
        for (int i = 0; i < sorted.size(); i++) {
            List<Line> function = function(sorted.get(i));
            if (i > 0 && lines.size() + function.size() > rows / 2) {
                lines.add(new Line(Words.count(sorted.size() - i, "more function", "more functions"), Style.SOFT));
                break;
            }
            lines.addAll(function);
        }
        return lines;
    }

    private List<Line> function(Members of) {
        List<Line> lines = new ArrayList<>();
        lines.add(Line.EMPTY);
        lines.add(new Line(of.text("name"), Style.TITLE));
        lines.addAll(wrapped(waiting(of), waitStyle(of)));
        lines.addAll(wrapped(launching(of), of.has("launchesBlocked") ? Style.WARN : Style.PLAIN));
        lines.addAll(wrapped(traffic(of), Style.PLAIN));
        if (of.has("dollars")) {
            lines.addAll(wrapped(cost(of), Style.SOFT));
        }
        return lines;
    }

    private static Style waitStyle(Members of) {
        if (of.number("queued") == 0) {
            return Style.GOOD;
        }
        return of.text("waitReason").equals("workers_starting") ? Style.WARN : Style.BAD;
    }

    private static String waiting(Members of) {
        double queued = of.number("queued");
        return queued == 0
                ? "No request waits for a worker."
                : Words.count(queued, "request waits", "requests wait") + " for a worker: " + of.text("waitDetail")
                        + " (" + of.text("waitReason") + ").";
    }

    private static String launching(Members of) {
        String ready = Words.number(of.number("workersReady"));
        if (!of.has("workersDesired")) {
            return ready + " of " + Words.number(of.number("workersConnected"))
                    + " connected workers are ready. None is launched here.";
        }
        String workers = "Workers: " + ready + " ready, " + Words.number(of.number("workersDesired")) + " desired, "
                + Words.number(of.number("workersStarting")) + " starting, "
                + Words.number(of.number("workersDraining")) + " draining, "
                + Words.number(of.number("workersEjected")) + " ejected. "
                + Words.count(of.number("launchesInLastMinute"), "launch", "launches") + " in the last minute. ";
        return workers
                + (of.has("launchesBlocked")
                        ? Words.sentence(of.text("launchesBlocked"))
                        : "Launching is not limited.");
    }

    private static String traffic(Members of) {
        List<Double> second = of.lastNumbers("history");
        double requests = second.size() > 1 ? second.get(0) : 0;
        double failures = second.size() > 1 ? second.get(1) : 0;
        double streams = of.number("streams");
        return Words.count(requests, "request", "requests") + " and " + Words.count(failures, "failure", "failures")
                + " in the last second. " + Words.number(Math.max(0, streams - of.number("streamsFree"))) + " of "
                + Words.number(streams) + " worker streams are busy.";
    }

    private static String cost(Members of) {
        double dollars = of.number("dollars");
        double direct = of.number("dollarsIfDirect");
        String share = direct > 0 ? String.format(Locale.ROOT, " (%.2f times)", dollars / direct) : "";
        return "Cost since the start: " + Words.dollars(dollars) + " for " + Words.number(of.number("gbSeconds"))
                + " GB-seconds of workers, of which " + Words.number(of.number("gbSecondsLastHour"))
                + " in the last hour. As direct invocations: " + Words.dollars(direct) + share
                + ". Prices of x86 in us-east-1.";
    }

    /** Breaks a sentence at spaces. */
    private List<Line> wrapped(String text, Style style) {
        List<Line> lines = new ArrayList<>();
        StringBuilder line = new StringBuilder(INDENT);
        for (String word : text.split(" ")) {
            if (line.length() > INDENT.length() && line.length() + 1 + word.length() > columns) {
                lines.add(new Line(line.toString(), style));
                line = new StringBuilder(INDENT);
            }
            line.append(line.length() > INDENT.length() ? " " : "").append(word);
        }
        lines.add(new Line(line.toString(), style));
        return lines;
    }

    // Tables.

    /** Gives each table one row in turn, until all are shown or the screen is full. */
    private static List<Line> tables(List<Table> tables, int room) {
        int[] shown = new int[tables.size()];
        int left = room;
        for (Table table : tables) {
            left -= table.rows().isEmpty() ? 2 : 3;
        }
        boolean more = true;
        while (left > 0 && more) {
            more = false;
            for (int i = 0; i < shown.length && left > 0; i++) {
                if (shown[i] < tables.get(i).rows().size()) {
                    shown[i]++;
                    left--;
                    more = true;
                }
            }
        }
        List<Line> lines = new ArrayList<>();
        for (int i = 0; i < shown.length; i++) {
            lines.add(Line.EMPTY);
            lines.addAll(tables.get(i).lines(shown[i]));
        }
        return lines;
    }

    private static String count(Members state, String name) {
        return state.has(name) ? Integer.toString(state.list(name).size()) : Members.UNKNOWN;
    }

    private static Table workers(String count, List<Members> workers) {
        List<Row> rows = workers.stream()
                .sorted(Comparator.comparingDouble(Screen::sickness)
                        .thenComparingDouble(worker -> worker.number("busy"))
                        .reversed())
                .map(Screen::worker)
                .toList();
        return new Table(
                "Workers " + count,
                List.of(
                        "State",
                        "Worker",
                        "Function",
                        "Version",
                        ">Age",
                        ">Time left",
                        ">Requests now",
                        ">Done",
                        ">Failed",
                        ">CPU",
                        ">Heap",
                        ">Lag",
                        "Address",
                        "Log"),
                rows);
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
        return state
                + failing * 10
                + (worker.number("loopLagMillis") > LONG_LAG_MILLIS ? 8 : 0)
                + (worker.number("heap") > FULL_HEAP ? 8 : 0);
    }

    private static Row worker(Members worker) {
        Style style = switch (worker.text("state")) {
            case "ejected" -> Style.BAD;
            case "unready", "starting" -> Style.WARN;
            case "draining" -> Style.SOFT;
            default -> sickness(worker) > 0 ? Style.BAD : Style.PLAIN;
        };
        return new Row(
                style,
                worker.has("ejected") ? "ejected: " + worker.text("ejected") : worker.text("state"),
                Words.id(worker.text("id")),
                worker.text("function"),
                worker.text("version"),
                duration(worker, "ageSeconds", 1),
                duration(worker, "secondsToDeadline", 1),
                Words.number(worker.number("busy")) + " of " + Words.number(worker.number("limit")),
                Words.number(worker.number("completed")),
                Words.number(worker.number("failed")),
                worker.has("cpu") ? Words.percent(worker.number("cpu")) : Members.UNKNOWN,
                worker.has("heap") ? Words.percent(worker.number("heap")) : Members.UNKNOWN,
                worker.has("loopLagMillis") ? Words.number(worker.number("loopLagMillis")) + " ms" : Members.UNKNOWN,
                worker.text("address"),
                worker.text("logStream"));
    }

    private static String duration(Members of, String name, double perSecond) {
        return of.has(name) ? Words.duration(of.number(name) / perSecond) : Members.UNKNOWN;
    }

    private static Table requests(String count, List<Members> requests) {
        return new Table(
                "Requests in progress " + count + (requests.size() == MANY_REQUESTS ? " or more" : ""),
                List.of(
                        ">Age",
                        "State",
                        "Function",
                        "Request",
                        "Worker",
                        "Client",
                        "Protocol",
                        ">Attempts",
                        ">Received",
                        ">Sent",
                        ">Unread"),
                requests.stream().map(Screen::request).toList());
    }

    private static Row request(Members request) {
        String state = request.text("state");
        boolean waits = state.equals("queued") || state.equals("over_share");
        return new Row(
                waits ? Style.WARN : Style.PLAIN,
                duration(request, "ageMillis", 1000),
                switch (state) {
                    case "queued" -> "waits for a worker";
                    case "over_share" -> "waits: its client has too many open";
                    case "sent" -> "worker has it";
                    default -> state;
                },
                request.text("function"),
                request.text("method") + " " + request.text("path"),
                Words.id(request.text("worker")),
                request.text("client"),
                request.text("protocol"),
                Words.number(request.number("attempts")),
                Words.bytes(request.number("requestBytes")),
                Words.bytes(request.number("responseBytes")),
                Words.bytes(request.number("unreadBytes")));
    }

    private static Table failures(List<Members> failures) {
        Map<String, Long> reasons = failures.stream()
                .collect(Collectors.groupingBy(
                        failure -> failure.text("reason"), LinkedHashMap::new, Collectors.counting()));
        String summary = reasons.entrySet().stream()
                .sorted(Map.Entry.<String, Long>comparingByValue().reversed())
                .map(reason -> reason.getKey() + ": " + reason.getValue())
                .collect(Collectors.joining(", "));
        return new Table(
                "Recent failures " + failures.size() + (summary.isEmpty() ? "" : " (" + summary + ")"),
                List.of("Time", "Reason", ">Status", "Function", "Request", "Worker", ">After"),
                failures.stream()
                        .map(failure -> new Row(
                                Style.BAD,
                                Words.time(failure.text("time")),
                                failure.text("reason"),
                                Words.number(failure.number("status")),
                                failure.text("function"),
                                failure.text("method") + " " + failure.text("path"),
                                Words.id(failure.text("worker")),
                                duration(failure, "millis", 1000)))
                        .toList());
    }

    private static Table launches(List<Members> launches) {
        return new Table(
                "Recent launches " + launches.size(),
                List.of("Time", "Outcome", "Function", "Worker", ">Life", "Detail"),
                launches.stream()
                        .map(launch -> new Row(
                                launch.text("outcome").equals("failed") ? Style.BAD : Style.PLAIN,
                                Words.time(launch.text("time")),
                                launch.text("outcome"),
                                launch.text("function"),
                                Words.id(launch.text("worker")),
                                duration(launch, "seconds", 1),
                                launch.text("detail")))
                        .toList());
    }
}
