package io.lambdadispatcher.server.live;

import io.lambdadispatcher.core.observe.DispatcherObserver;
import io.lambdadispatcher.core.observe.ExchangeEnd;
import io.lambdadispatcher.core.observe.ExchangeListener;
import io.lambdadispatcher.core.observe.ExchangeStart;
import io.lambdadispatcher.core.observe.Incident;
import io.lambdadispatcher.core.observe.Outcome;
import io.lambdadispatcher.wire.http.HeaderText;
import io.netty.util.AsciiString;
import java.time.Instant;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.LongAdder;
import org.jspecify.annotations.Nullable;

/**
 * Counts requests, and remembers the latest failures and launches. Counting a request allocates
 * nothing. Any thread.
 */
public final class Recorder implements DispatcherObserver {
    private static final String NO_FUNCTION = "none";
    private static final int FAILURES = 100;
    /** Clients can send paths of 64 KiB. A snapshot of a request is cut in the same way. */
    private static final int MAX_CHARACTERS = 512;

    private static final int LAUNCHES = 50;

    /** The requests of one function that have ended. */
    static final class Counts {
        final LongAdder requests = new LongAdder();
        final LongAdder failures = new LongAdder();
        /** Time that requests spent with workers, in nanoseconds. */
        final LongAdder serviceNanos = new LongAdder();

        /** Requests that were given to a worker or a direct invocation. */
        final LongAdder served = new LongAdder();
        /** Requests that were given to a direct invocation last. */
        final LongAdder direct = new LongAdder();

        final LongAdder launches = new LongAdder();
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

    /** Returns the incidents that go on, the latest first. */
    List<Incident> incidents() {
        return incidents.values().stream()
                .sorted(Comparator.comparing(Incident::since).reversed())
                .toList();
    }

    @Override
    public void onIncident(Incident incident) {
        if (incident.isOver()) {
            incidents.remove(incident.headline());
        } else {
            incidents.put(incident.headline(), incident);
        }
    }

    @Override
    public ExchangeListener onExchangeStart(ExchangeStart start) {
        return listener;
    }

    private void onEnd(ExchangeEnd end) {
        String function = end.function();
        Counts counts = counts(function == null ? NO_FUNCTION : function);
        counts.requests.increment();
        if (end.outcome() == Outcome.FAILED) {
            counts.failures.increment();
            // In a flood of failures, only some are remembered.
            failures.tryAdd(() -> failed(end));
        }
        if (end.attempts() > 0) {
            counts.served.increment();
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
    public void onLaunch(String function, String workerId) {
        counts(function).launches.increment();
        Launch launch = new Launch(Instant.now(), function, workerId, null, false, null);
        running.put(workerId, launch);
        launches.add(launch);
    }

    @Override
    public void onLaunchEnd(String function, String workerId, boolean failed, String detail) {
        Launch launch = running.remove(workerId);
        if (launch == null) {
            return;
        }
        Launch ended = new Launch(launch.time(), function, workerId, Instant.now(), failed, detail);
        if (failed) {
            launches.remove(launch::equals);
            failedLaunches.add(ended);
        } else {
            launches.replace(launch::equals, ended);
        }
    }
}
