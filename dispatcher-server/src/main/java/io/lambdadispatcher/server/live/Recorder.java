package io.lambdadispatcher.server.live;

import io.lambdadispatcher.core.observe.BreakerState;
import io.lambdadispatcher.core.observe.DispatcherObserver;
import io.lambdadispatcher.core.observe.ExchangeEnd;
import io.lambdadispatcher.core.observe.ExchangeListener;
import io.lambdadispatcher.core.observe.ExchangeStart;
import io.lambdadispatcher.core.observe.Incident;
import io.lambdadispatcher.core.observe.Outcome;
import io.lambdadispatcher.server.live.ChangeLog.ChangeKind;
import io.lambdadispatcher.wire.http.HeaderText;
import io.netty.util.AsciiString;
import java.time.Clock;
import java.time.Instant;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.LongAdder;
import org.jspecify.annotations.Nullable;

/**
 * Counts requests and their latencies, and remembers the latest failures, launches and changes.
 * Counting a request allocates nothing. Any thread.
 */
public final class Recorder implements DispatcherObserver {
    private static final String NO_FUNCTION = "none";
    private static final int FAILURES = 100;
    /** Clients can send paths of 64 KiB. A snapshot of a request is cut in the same way. */
    private static final int MAX_CHARACTERS = 512;

    private static final int LAUNCHES = 50;

    /** Shorter times in the queue are no waiting. Not counting them is cheaper. */
    private static final long QUEUED_NANOS = 100_000;

    private static final int STATUS_CLASSES = 6;

    /** The requests of one function that have ended. */
    static final class Counts {
        /** Requests that have not failed, by class of status. Class 0 = no response. */
        private final LongAdder[] byStatus = new LongAdder[STATUS_CLASSES];

        /** Requests that the dispatcher has failed. */
        final LongAdder failures = new LongAdder();
        /** Time that requests spent with workers, in nanoseconds. */
        final LongAdder serviceNanos = new LongAdder();

        /** Requests that were given to a direct invocation last. */
        final LongAdder direct = new LongAdder();

        final LongAdder launches = new LongAdder();

        /** Times of requests in the queue, except very short ones. */
        final LatencyCounts queue = new LatencyCounts();
        /**
         * Times from the queue to the response's headers, or to the end if there was no response.
         * Only of requests that were given to a worker or a direct invocation.
         */
        final LatencyCounts worker = new LatencyCounts();
        /** Times from the arrival to the response's headers, whoever the response is from. */
        final LatencyCounts firstByte = new LatencyCounts();

        Counts() {
            for (int i = 0; i < STATUS_CLASSES; i++) {
                byStatus[i] = new LongAdder();
            }
        }

        /** Returns the responses of the function, by class of status. Class 0 = no response. */
        long responses(int statusClass) {
            return byStatus[statusClass].sum();
        }

        /** Returns all requests, failed ones included. */
        long requests() {
            long all = failures.sum();
            for (LongAdder each : byStatus) {
                all += each.sum();
            }
            return all;
        }

        /** Returns the requests that were given to a worker or a direct invocation. */
        long served() {
            return worker.total();
        }
    }

    /**
     * A request that failed.
     *
     * @param method at most 512 characters of it
     * @param path without the query, which may contain secrets; at most 512 characters of it
     */
    record FailedRequest(
            Instant time,
            @Nullable String function,
            String reason,
            int status,
            @Nullable String worker,
            String method,
            String path,
            long millis) {}

    /** A launch. {@code end} and {@code detail} are {@code null} until the worker has exited. */
    record Launch(
            Instant time,
            String function,
            String worker,
            String reason,
            @Nullable Instant end,
            boolean failed,
            @Nullable String detail) {}

    private final ExchangeListener listener = this::onEnd;
    private final Map<String, Counts> functions = new ConcurrentHashMap<>();
    private final Latest<FailedRequest> failures = new Latest<>(FAILURES);
    /** Launches that have not failed. */
    private final Latest<Launch> launches = new Latest<>(LAUNCHES);
    /** Separate, because launches follow each other quickly with many workers. */
    private final Latest<Launch> failedLaunches = new Latest<>(LAUNCHES);
    /** Launches that have not ended, by worker. */
    private final Map<String, Launch> running = new ConcurrentHashMap<>();

    /** Incidents that go on, by headline. */
    private final Map<String, Incident> incidents = new ConcurrentHashMap<>();

    private final RouteCounts routes = new RouteCounts(System.nanoTime());

    private final ChangeLog changes = new ChangeLog(Clock.systemUTC());

    Counts counts(String function) {
        Counts counts = functions.get(function);
        return counts != null ? counts : functions.computeIfAbsent(function, name -> new Counts());
    }

    Latest<FailedRequest> failures() {
        return failures;
    }

    /**
     * Returns the latest 50 launches that have failed, then the latest 50 that have not, each the
     * latest first.
     */
    List<Launch> launches() {
        List<Launch> all = failedLaunches.list();
        all.addAll(launches.list());
        return all;
    }

    ChangeLog changes() {
        return changes;
    }

    RouteCounts routes() {
        return routes;
    }

    /** Returns the incidents that go on, the latest first. */
    List<Incident> incidents() {
        return incidents.values().stream()
                .sorted(Comparator.comparing(Incident::since).reversed())
                .toList();
    }

    @Override
    public void onIncident(Incident incident) {
        if (incident.isOver()) {
            // The next one may have begun on another event loop.
            incidents.computeIfPresent(
                    incident.headline(), (its, open) -> open.since().equals(incident.since()) ? null : open);
        } else {
            incidents.put(incident.headline(), incident);
        }
        changes.add(
                incident.isOver() ? ChangeKind.INCIDENT_OVER : ChangeKind.INCIDENT,
                incident.function().isEmpty() ? null : incident.function(),
                incident.headline() + ": " + incident.cause());
    }

    @Override
    public void onBreaker(String function, String breaker, BreakerState state, String reason) {
        changes.addOfBreaker(
                function,
                breaker,
                "breaker " + breaker + " lets " + state.percent() + " % of the requests pass: " + reason);
    }

    @Override
    public ExchangeListener onExchangeStart(ExchangeStart start) {
        return listener;
    }

    private void onEnd(ExchangeEnd end) {
        String function = end.function();
        Counts counts = counts(function == null ? NO_FUNCTION : function);
        int status = end.status();
        long firstByte = end.firstByteNanos();
        if (end.outcome() == Outcome.FAILED) {
            counts.failures.increment();
            // In a flood of failures, only some are remembered.
            failures.tryAdd(() -> failed(end));
        } else {
            counts.byStatus[status >= 100 && status < 600 ? status / 100 : 0].increment();
        }
        if (end.queueNanos() >= QUEUED_NANOS) {
            counts.queue.record(end.queueNanos());
        }
        if (firstByte >= 0 || end.outcome() == Outcome.FAILED || end.substitute() != null) {
            long nanos = firstByte >= 0 ? firstByte : end.totalNanos();
            counts.firstByte.record(nanos);
            if (function != null && !end.isTunnel()) {
                routes.record(function, end, nanos);
            }
        }
        if (end.attempts() > 0) {
            counts.worker.record((firstByte >= 0 ? firstByte : end.totalNanos()) - end.queueNanos());
            if (end.workerId() == null) {
                counts.direct.increment();
            }
        }
        if (!end.isTunnel()) {
            counts.serviceNanos.add(end.totalNanos() - end.queueNanos());
        }
    }

    private static FailedRequest failed(ExchangeEnd end) {
        CharSequence path = end.path();
        int query = AsciiString.indexOf(path, '?', 0);
        String failure = end.failure();
        return new FailedRequest(
                Instant.now(),
                end.function(),
                failure == null ? "unknown" : failure,
                end.status(),
                end.workerId(),
                start(end.method(), end.method().length()),
                start(path, query < 0 ? path.length() : query),
                end.totalNanos() / 1_000_000);
    }

    private static String start(CharSequence text, int end) {
        String all = HeaderText.decode(text.subSequence(0, end));
        return all.substring(0, Math.min(all.length(), MAX_CHARACTERS));
    }

    @Override
    public void onLaunch(String function, String workerId, String reason) {
        counts(function).launches.increment();
        Launch launch = new Launch(Instant.now(), function, workerId, reason, null, false, null);
        running.put(workerId, launch);
        launches.add(launch);
        changes.addOfWorker(ChangeKind.LAUNCH, function, workerId + ": " + reason);
    }

    @Override
    public void onLaunchEnd(String function, String workerId, boolean failed, String detail) {
        Launch launch = running.remove(workerId);
        if (launch == null) {
            return;
        }
        Launch ended = new Launch(launch.time(), function, workerId, launch.reason(), Instant.now(), failed, detail);
        changes.addOfWorker(
                failed ? ChangeKind.LAUNCH_FAILED : ChangeKind.WORKER_ENDED, function, workerId + ": " + detail);
        if (failed) {
            launches.remove(launch::equals);
            failedLaunches.add(ended);
        } else {
            launches.replace(launch::equals, ended);
        }
    }
}
