package io.lambdadispatcher.micrometer;

import io.lambdadispatcher.core.observe.BreakerState;
import io.lambdadispatcher.core.observe.ExchangeEnd;
import io.lambdadispatcher.core.observe.ExtraAttempt;
import io.lambdadispatcher.core.observe.FilterEvent;
import io.lambdadispatcher.core.observe.Outcome;
import io.lambdadispatcher.core.observe.RetryDenial;
import io.lambdadispatcher.core.observe.SessionResult;
import io.lambdadispatcher.core.observe.Substitute;
import io.lambdadispatcher.core.observe.WaitReason;
import io.lambdadispatcher.core.observe.WorkerKind;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.DistributionSummary;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tag;
import io.micrometer.core.instrument.Timer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReferenceArray;

/** The meters of one function, each looked up once. Called on all event loops. */
final class FunctionMeters {
    private static final int STATUS_CLASSES = 6;
    private static final ExtraAttempt[] EXTRA_ATTEMPTS = ExtraAttempt.values();

    private static final Duration[] BUCKETS = {
        Duration.ofNanos(250_000),
        Duration.ofNanos(500_000),
        Duration.ofMillis(1),
        Duration.ofNanos(2_500_000),
        Duration.ofMillis(5),
        Duration.ofMillis(10),
        Duration.ofMillis(25),
        Duration.ofMillis(50),
        Duration.ofMillis(100),
        Duration.ofMillis(250),
        Duration.ofMillis(500),
        Duration.ofSeconds(1),
        Duration.ofMillis(2500),
        Duration.ofSeconds(5),
        Duration.ofSeconds(10),
        Duration.ofSeconds(30),
        Duration.ofMinutes(1),
        Duration.ofMinutes(5),
        Duration.ofMinutes(15)
    };

    private final MeterRegistry registry;
    private final String function;

    /** Counters by outcome and class of status. Class 0 means that no status was sent. */
    private final AtomicReferenceArray<Counter> requests =
            new AtomicReferenceArray<>(Outcome.values().length * STATUS_CLASSES);

    /** Counters by the kind of the worker. */
    private final Counter[] workerRequests = new Counter[WorkerKind.values().length];

    private final Map<String, Counter> failures = new ConcurrentHashMap<>();
    private final Map<WaitReason, Counter> waits = new ConcurrentHashMap<>();
    private final Counter[] sessions = new Counter[SessionResult.values().length];
    private final Counter[] substitutes = new Counter[Substitute.values().length];

    /** The share that passes, in percent. A breaker is here once it has opened. */
    private final Map<String, AtomicInteger> breakers = new ConcurrentHashMap<>();

    private final Counter[] retries = new Counter[EXTRA_ATTEMPTS.length];
    private final Counter[] denials = new Counter[RetryDenial.values().length];
    private final Map<Reported, Counter> filterCounters = new ConcurrentHashMap<>();
    private final Map<Reported, Timer> filterTimers = new ConcurrentHashMap<>();
    private final Timer duration;
    private final Timer tunnelDuration;
    private final Timer queueTime;
    private final Counter requestBytes;
    private final Counter responseBytes;
    private final Counter connectionsOpened;
    private final Counter connectionsDrained;
    private final Counter connectionsLost;
    private final Counter launches;
    private final Counter launchesEnded;
    private final Counter launchesFailed;
    private final DistributionSummary cpu;
    private final DistributionSummary memory;
    private final Timer loopLag;

    FunctionMeters(MeterRegistry registry, String function) {
        this.registry = registry;
        this.function = function;
        duration = histogram(Meters.DURATION);
        tunnelDuration = histogram(Meters.TUNNEL_DURATION);
        queueTime = histogram(Meters.QUEUE_TIME);
        requestBytes = counter(Meters.REQUEST_BYTES);
        responseBytes = counter(Meters.RESPONSE_BYTES);
        connectionsOpened = counter(Meters.WORKER_CONNECTIONS_OPENED);
        connectionsDrained = counter(Meters.WORKER_CONNECTIONS_CLOSED, "end", "drained");
        connectionsLost = counter(Meters.WORKER_CONNECTIONS_CLOSED, "end", "lost");
        launches = counter(Meters.LAUNCHES);
        launchesEnded = counter(Meters.LAUNCHES_ENDED, "result", "ended");
        launchesFailed = counter(Meters.LAUNCHES_ENDED, "result", "failed");
        cpu = summary(Meters.WORKER_CPU);
        memory = summary(Meters.WORKER_MEMORY);
        loopLag = Timer.builder(Meters.WORKER_LOOP_LAG.title())
                .description(Meters.WORKER_LOOP_LAG.description())
                .tag("function", function)
                .register(registry);
        for (WorkerKind kind : WorkerKind.values()) {
            workerRequests[kind.ordinal()] = counter(Meters.WORKER_REQUESTS, "kind", kind.token());
        }
        // They begin at zero, so that the first event is an increase.
        for (ExtraAttempt reason : EXTRA_ATTEMPTS) {
            retries[reason.ordinal()] = counter(Meters.RETRIES, "reason", reason.token());
        }
        for (RetryDenial reason : RetryDenial.values()) {
            denials[reason.ordinal()] = counter(Meters.RETRIES_DENIED, "reason", reason.token());
        }
        for (SessionResult result : SessionResult.values()) {
            sessions[result.ordinal()] = counter(Meters.SESSIONS, "worker", result.token());
        }
        for (Substitute substitute : Substitute.values()) {
            substitutes[substitute.ordinal()] = counter(Meters.SUBSTITUTES, "by", substitute.token());
        }
    }

    void exchangeEnded(ExchangeEnd end) {
        requests(end.outcome(), end.status()).increment();
        WorkerKind kind = end.workerKind();
        if (kind != null) {
            workerRequests[kind.ordinal()].increment();
        }
        if (end.failure() != null) {
            failures.computeIfAbsent(end.failure(), this::failures).increment();
        }
        if (end.waitReason() != null) {
            waits.computeIfAbsent(end.waitReason(), this::waits).increment();
        }
        if (end.sessionResult() != null) {
            sessions[end.sessionResult().ordinal()].increment();
        }
        if (end.substitute() != null) {
            substitutes[end.substitute().ordinal()].increment();
        }
        (end.isTunnel() ? tunnelDuration : duration).record(end.totalNanos(), TimeUnit.NANOSECONDS);
        queueTime.record(end.queueNanos(), TimeUnit.NANOSECONDS);
        add(requestBytes, end.requestBytes());
        add(responseBytes, end.responseBytes());
        if (end.attempts() > 1) {
            for (ExtraAttempt reason : EXTRA_ATTEMPTS) {
                add(retries[reason.ordinal()], end.extraAttempts(reason));
            }
        }
        if (end.retryDenial() != null) {
            denials[end.retryDenial().ordinal()].increment();
        }
    }

    private static void add(Counter counter, long amount) {
        if (amount > 0) {
            counter.increment((double) amount);
        }
    }

    private Counter requests(Outcome outcome, int status) {
        int statusClass = status >= 100 && status < 600 ? status / 100 : 0;
        int index = outcome.ordinal() * STATUS_CLASSES + statusClass;
        Counter counter = requests.get(index);
        if (counter == null) {
            // Two event loops may come here concurrently. The registry gives both the same counter.
            counter = counter(
                    Meters.REQUESTS,
                    "outcome",
                    outcome.name().toLowerCase(Locale.ROOT),
                    "status",
                    statusClass == 0 ? "none" : statusClass + "xx");
            requests.set(index, counter);
        }
        return counter;
    }

    private Counter failures(String failure) {
        return counter(Meters.FAILURES, "failure", failure);
    }

    private Counter waits(WaitReason reason) {
        return counter(Meters.WAITS, "reason", reason.token());
    }

    /** What the event of a filter is counted by. */
    private record Reported(String name, Map<String, String> labels) {}

    void filterReported(FilterEvent event) {
        Reported key = new Reported(event.name(), event.labels());
        if (event.isTimed()) {
            filterTimers.computeIfAbsent(key, its -> timer(event)).record(event.nanos(), TimeUnit.NANOSECONDS);
        } else {
            filterCounters.computeIfAbsent(key, its -> counter(event)).increment(event.count());
        }
    }

    private Timer timer(FilterEvent event) {
        return Timer.builder(Meters.PREFIX + event.name())
                .description(event.description())
                .tags(tags(event))
                .serviceLevelObjectives(BUCKETS)
                .register(registry);
    }

    private Counter counter(FilterEvent event) {
        return Counter.builder(Meters.PREFIX + event.name())
                .description(event.description())
                .tags(tags(event))
                .register(registry);
    }

    private List<Tag> tags(FilterEvent event) {
        List<Tag> tags = new ArrayList<>();
        tags.add(Tag.of("function", function));
        event.labels().forEach((name, value) -> tags.add(Tag.of(name, value)));
        return tags;
    }

    void workerConnected() {
        connectionsOpened.increment();
    }

    void workerDisconnected(boolean clean) {
        (clean ? connectionsDrained : connectionsLost).increment();
    }

    void workerLoad(int cpuPermille, int memoryPermille, int loopLagMicros) {
        cpu.record(cpuPermille / 1000.0);
        memory.record(memoryPermille / 1000.0);
        loopLag.record(loopLagMicros, TimeUnit.MICROSECONDS);
    }

    void breakerChanged(String breaker, BreakerState state) {
        breakers.computeIfAbsent(breaker, this::breaker).set(state.percent());
        if (state == BreakerState.OPEN) {
            counter(Meters.BREAKER_OPENINGS, "breaker", breaker).increment();
        }
    }

    private AtomicInteger breaker(String name) {
        AtomicInteger percent = new AtomicInteger();
        Gauge.builder(Meters.BREAKER_PASSING.title(), percent, value -> value.get() / 100.0)
                .description(Meters.BREAKER_PASSING.description())
                .baseUnit(Meters.BREAKER_PASSING.unit())
                .tag("function", function)
                .tag("breaker", name)
                .register(registry);
        return percent;
    }

    void launched() {
        launches.increment();
    }

    void launchEnded(boolean failed) {
        (failed ? launchesFailed : launchesEnded).increment();
    }

    private Counter counter(Meters meter, String... tags) {
        return Counter.builder(meter.title())
                .description(meter.description())
                .baseUnit(meter.unit())
                .tag("function", function)
                .tags(tags)
                .register(registry);
    }

    private Timer histogram(Meters meter) {
        return Timer.builder(meter.title())
                .description(meter.description())
                .tag("function", function)
                .serviceLevelObjectives(BUCKETS)
                .register(registry);
    }

    private DistributionSummary summary(Meters meter) {
        return DistributionSummary.builder(meter.title())
                .description(meter.description())
                .baseUnit(meter.unit())
                .tag("function", function)
                .register(registry);
    }
}
