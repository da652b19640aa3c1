package io.lambdadispatcher.server.live;

import io.lambdadispatcher.core.Dispatcher;
import io.lambdadispatcher.core.observe.BreakerSnapshot;
import io.lambdadispatcher.core.observe.CapacitySnapshot;
import io.lambdadispatcher.core.observe.FleetSnapshot;
import io.lambdadispatcher.core.observe.Incident;
import io.lambdadispatcher.core.observe.PoolSnapshot;
import io.lambdadispatcher.core.observe.RequestSnapshot;
import io.lambdadispatcher.core.observe.RolloutSnapshot;
import io.lambdadispatcher.core.observe.WorkerSnapshot;
import io.lambdadispatcher.core.options.FunctionOptions;
import io.lambdadispatcher.wire.event.Json;
import java.math.BigDecimal;
import java.math.RoundingMode;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The documents of {@code /api} and of the live page. {@code docs/reference/admin-api.yaml}
 * describes their members. Any thread except event loops, because some wait for these.
 */
public final class Documents {
    /** The requests that one document lists, at most. */
    static final int MAX_REQUESTS = 200;

    /** The routes that one function lists, at most. */
    private static final int MAX_ROUTES = 12;

    private static final int PATIENCE_SECONDS = 2;
    private static final String SILENT = "an event loop has not answered within " + PATIENCE_SECONDS + " s";
    /**
     * For this time after an event loop has not answered, documents do not ask again. Otherwise,
     * everyone who wants them would wait in turn.
     */
    private static final long SILENT_NANOS = TimeUnit.SECONDS.toNanos(1);

    private record Inspected(List<WorkerSnapshot> workers, List<RequestSnapshot> requests) {}

    private final Dispatcher dispatcher;
    private final Recorder recorder;
    private final History history;
    private final Map<String, FunctionOptions> options;
    private final Map<String, Object> about;
    /** When an event loop has last not answered; {@code null} if all did. */
    private volatile @Nullable Long silentNanos;

    /**
     * @param options of all functions, by name
     * @param about what does not change: the members {@code version} and {@code config}
     */
    Documents(
            Dispatcher dispatcher,
            Recorder recorder,
            History history,
            Map<String, FunctionOptions> options,
            Map<String, Object> about) {
        this.dispatcher = dispatcher;
        this.recorder = recorder;
        this.history = history;
        this.options = Map.copyOf(options);
        this.about = about;
    }

    /**
     * Returns a document as JSON.
     *
     * @param name the part of the path behind {@code /api/}
     * @return {@code null} if there is no such document
     * @throws IllegalStateException if this is {@code workers} or {@code requests}, and the event
     *     loops do not answer in time
     */
    public byte @Nullable [] json(String name) {
        Object document = switch (name) {
            case "functions" -> functions();
            case "workers" -> workers(await(dispatcher::workers));
            case "requests" -> requests(await(() -> dispatcher.requests(MAX_REQUESTS)));
            case "launches" -> launches();
            case "failures" -> failures();
            case "changes" -> changes();
            case "fleet" -> fleet();
            case "config", "version" -> about.get(name);
            case "live" -> live();
            default -> null;
        };
        return document == null ? null : Json.bytes(document);
    }

    /** Everything that changes, for the live page. Stuck event loops take away only a part. */
    private Map<String, Object> live() {
        Map<String, Object> all = new LinkedHashMap<>();
        try {
            Inspected now =
                    await(() -> dispatcher.workers().thenCombine(dispatcher.requests(MAX_REQUESTS), Inspected::new));
            all.put("workers", workers(now.workers()));
            all.put("requests", requests(now.requests()));
        } catch (IllegalStateException e) {
            all.put("problem", e.getMessage() + ", so workers and requests are not known");
        }
        all.put("time", Instant.now().toString());
        all.put(
                "incidents",
                recorder.incidents().stream().map(Documents::incident).toList());
        all.put("functions", functions());
        all.put("fleet", fleet());
        all.put("launches", launches());
        all.put("failures", failures());
        all.put("changes", changes());
        return all;
    }

    private static Object incident(Incident incident) {
        Map<String, Object> members = new LinkedHashMap<>();
        members.put("since", incident.since().toString());
        members.put("what", incident.headline());
        members.put("cause", incident.cause());
        return members;
    }

    private <T> T await(Supplier<CompletionStage<T>> question) {
        Long silent = silentNanos;
        if (silent != null && System.nanoTime() - silent < SILENT_NANOS) {
            throw new IllegalStateException(SILENT);
        }
        try {
            T answer = question.get().toCompletableFuture().get(PATIENCE_SECONDS, TimeUnit.SECONDS);
            silentNanos = null;
            return answer;
        } catch (TimeoutException e) {
            silentNanos = System.nanoTime();
            throw new IllegalStateException(SILENT, e);
        } catch (ExecutionException e) {
            throw new IllegalStateException("the event loops have ended", e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("interrupted", e);
        }
    }

    // Functions.

    private List<Object> functions() {
        Map<String, CapacitySnapshot> capacity = dispatcher.capacity().stream()
                .collect(Collectors.toMap(CapacitySnapshot::function, Function.identity()));
        List<Object> all = new ArrayList<>();
        for (PoolSnapshot pool : dispatcher.pools()) {
            all.add(function(pool, capacity.get(pool.function())));
        }
        return all;
    }

    private Map<String, Object> function(PoolSnapshot pool, @Nullable CapacitySnapshot capacity) {
        Map<String, Object> members = new LinkedHashMap<>();
        members.put("name", pool.function());
        members.put("queued", pool.queued());
        QueueReason wait =
                QueueReason.of(pool, capacity, optionsOf(pool.function()).capacity());
        put(members, "waitReason", wait == null ? null : wait.reason().token());
        put(members, "waitDetail", wait == null ? null : wait.detail());
        members.put("workersReady", pool.readyWorkers());
        members.put("workersReadyBase", pool.readyBaseWorkers());
        members.put("workersConnected", pool.workers());
        members.put("workersEjected", pool.ejectedWorkers());
        if (capacity != null) {
            members.put("workersDesired", capacity.desired());
            members.put("workersStarting", capacity.starting());
            members.put("workersDraining", capacity.draining());
            members.put("launchesInLastMinute", capacity.launchesInLastMinute());
            put(members, "launchesBlocked", capacity.blockedReason());
            put(members, "base", base(capacity.base()));
            put(members, "advisedBase", advisedBase(capacity.advisedBase()));
            put(members, "scheduled", scheduled(capacity.scheduled()));
            put(members, "rollout", rollout(capacity.rollout()));
        }
        put(members, "breakers", breakers(pool.function()));
        members.put("streams", pool.streams());
        members.put("streamsFree", pool.free());
        addCounts(members, pool.function(), capacity);
        members.put(
                "history",
                history.of(pool.function()).stream()
                        .map(each -> List.of(
                                each.requests(),
                                each.failures(),
                                each.queued(),
                                each.busy(),
                                each.ready(),
                                each.readyBase(),
                                each.clientErrors(),
                                each.serverErrors()))
                        .toList());
        members.put(
                "latencies",
                history.latencies(pool.function()).stream()
                        .map(each -> Stream.of(each.queue(), each.worker(), each.firstByte())
                                .flatMap(of -> Stream.of(of.median(), of.p99()))
                                .toList())
                        .toList());
        members.put(
                "routes",
                recorder.routes().list(pool.function(), System.nanoTime()).stream()
                        .limit(MAX_ROUTES)
                        .map(Documents::route)
                        .toList());
        return members;
    }

    private static Object route(RouteCounts.RouteRate of) {
        Map<String, Object> members = new LinkedHashMap<>();
        members.put("name", of.name());
        members.put("perSecond", rounded(of.perSecond(), 2));
        members.put("p99", of.p99Micros());
        members.put("serverErrors", of.serverErrors());
        return members;
    }

    private static @Nullable Object base(CapacitySnapshot.@Nullable Base of) {
        if (of == null) {
            return null;
        }
        Map<String, Object> members = new LinkedHashMap<>();
        members.put("workers", of.workers());
        members.put("concurrency", of.concurrency());
        members.put("busy", of.busy());
        members.put("excess", rounded(of.excess(), 1));
        put(members, "version", of.version().isEmpty() ? null : of.version());
        put(members, "versionDifference", of.versionDifference());
        return members;
    }

    private static @Nullable Object advisedBase(CapacitySnapshot.@Nullable AdvisedBase of) {
        if (of == null) {
            return null;
        }
        Map<String, Object> members = new LinkedHashMap<>();
        members.put("concurrency", of.concurrency());
        members.put("dollarsPerHour", rounded(of.dollarsPerHour(), 6));
        members.put("dollarsPerHourNow", rounded(of.dollarsPerHourNow(), 6));
        return members;
    }

    private static @Nullable Object scheduled(CapacitySnapshot.@Nullable Scheduled of) {
        if (of == null) {
            return null;
        }
        Map<String, Object> members = new LinkedHashMap<>();
        members.put("minimum", of.minimum());
        members.put("gbSeconds", rounded(of.gbSeconds(), 1));
        members.put("dollars", rounded(Cost.of(of.gbSeconds(), 0), 6));
        members.put("requests", of.requests());
        return members;
    }

    private @Nullable Object breakers(String function) {
        List<Object> all = new ArrayList<>();
        for (BreakerSnapshot of : dispatcher.breakers()) {
            if (of.function().equals(function)) {
                Map<String, Object> members = new LinkedHashMap<>();
                members.put("name", of.breaker());
                members.put("passingPercent", of.state().percent());
                members.put("reason", of.reason());
                all.add(members);
            }
        }
        return all.isEmpty() ? null : all;
    }

    private static @Nullable Object rollout(@Nullable RolloutSnapshot of) {
        if (of == null) {
            return null;
        }
        Map<String, Object> members = new LinkedHashMap<>();
        members.put("state", lower(of.state()));
        members.put("version", of.version());
        if (!of.newVersion().isEmpty()) {
            members.put("newVersion", of.newVersion());
            members.put("newVersionReady", of.newReady());
            put(members, "percent", of.percent() == 0 ? null : of.percent());
        }
        put(members, "reason", of.reason().isEmpty() ? null : of.reason());
        return members;
    }

    private FunctionOptions optionsOf(String function) {
        return Objects.requireNonNull(options.get(function), function);
    }

    private void addCounts(Map<String, Object> members, String function, @Nullable CapacitySnapshot capacity) {
        Recorder.Counts counts = recorder.counts(function);
        members.put("requests", counts.requests());
        members.put("requestsFailed", counts.failures.sum());
        members.put("clientErrors", counts.responses(4));
        members.put("serverErrors", counts.responses(5));
        int memory = optionsOf(function).launching().workerMegabytes();
        if (capacity != null) {
            members.put("gbSecondsLastHour", rounded(capacity.gbSecondsLastHour(), 1));
            members.put("gbSeconds", rounded(capacity.gbSecondsTotal(), 1));
            members.put("dollarsLastHour", rounded(Cost.of(capacity.gbSecondsLastHour(), 0), 6));
            members.put(
                    "dollars",
                    rounded(Cost.of(capacity.gbSecondsTotal(), counts.launches.sum() + counts.direct.sum()), 6));
            members.put(
                    "dollarsIfDirect", rounded(Cost.ofDirect(counts.served(), counts.serviceNanos.sum(), memory), 6));
        }
    }

    // The fleet.

    private Map<String, Object> fleet() {
        Map<String, Object> all = new LinkedHashMap<>();
        FleetSnapshot fleet = dispatcher.fleet();
        all.put("alone", fleet == null);
        if (fleet != null) {
            all.put("dispatcher", fleet.dispatcher());
            all.put("leaseValid", fleet.leaseValid());
            put(all, "leaseAgeMillis", fleet.leaseAgeMillis() < 0 ? null : fleet.leaseAgeMillis());
            all.put("members", fleet.members().stream().map(Documents::member).toList());
            all.put("functions", fleet.functions().stream().map(this::slots).toList());
        }
        return all;
    }

    private static Object member(FleetSnapshot.Member member) {
        Map<String, Object> members = new LinkedHashMap<>();
        members.put("id", member.id());
        members.put("alive", member.alive());
        members.put("silentMillis", member.silentMillis());
        put(members, "zone", member.zone().isEmpty() ? null : member.zone());
        put(members, "version", member.version().isEmpty() ? null : member.version());
        members.put("addresses", member.addresses());
        Map<String, Object> streams = new LinkedHashMap<>();
        member.streams().forEach((function, needed) -> streams.put(function, rounded(needed, 1)));
        members.put("streamsNeeded", streams);
        return members;
    }

    private Object slots(FleetSnapshot.FunctionSlots of) {
        FunctionOptions function = optionsOf(of.function());
        double spendingLimit = function.launching().gbSecondsPerHour();
        Map<String, Object> members = new LinkedHashMap<>();
        members.put("name", of.function());
        members.put("launching", of.launching());
        members.put("workers", of.workers());
        members.put("workersMax", function.capacity().maxWorkers());
        members.put("workersReplaced", of.replaced());
        members.put("workersOwned", of.owned());
        members.put("workersReserved", of.reserved());
        members.put("launchesInLastMinute", of.launchesInLastMinute());
        members.put("launchesPerMinute", function.launching().launchesPerMinute());
        members.put("gbSecondsLastHour", rounded(of.gbSecondsLastHour(), 1));
        put(members, "gbSecondsPerHour", spendingLimit == 0 ? null : rounded(spendingLimit, 1));
        put(members, "conflict", of.conflict());
        return members;
    }

    // Workers.

    private static List<Object> workers(List<WorkerSnapshot> workers) {
        return workers.stream().map(Documents::worker).toList();
    }

    private static Object worker(WorkerSnapshot worker) {
        Map<String, Object> members = new LinkedHashMap<>();
        members.put("id", worker.workerId());
        members.put("function", worker.function());
        members.put("state", lower(worker.state()));
        put(members, "ejected", worker.ejection());
        members.put("launched", worker.launched());
        put(members, "address", text(worker.remoteAddress()));
        members.put("ageSeconds", seconds(Duration.between(worker.since(), Instant.now())));
        Instant deadline = worker.deadline();
        put(members, "secondsToDeadline", deadline == null ? null : seconds(Duration.between(Instant.now(), deadline)));
        members.put("connections", worker.connections());
        members.put("streams", worker.streams());
        members.put("busy", worker.busy());
        members.put("limit", worker.limit());
        members.put("completed", worker.completed());
        members.put("failed", worker.failed());
        WorkerSnapshot.Load load = worker.load();
        if (load != null) {
            members.put("cpu", rounded(load.cpuPermille() / 1000.0, 3));
            members.put("heap", rounded(load.memoryPermille() / 1000.0, 3));
            members.put("loopLagMillis", rounded(load.loopLagMicros() / 1000.0, 1));
        }
        put(members, "version", worker.version().isEmpty() ? null : worker.version());
        put(members, "zone", worker.zone().isEmpty() ? null : worker.zone());
        put(members, "launchReason", worker.launchReason().isEmpty() ? null : worker.launchReason());
        put(members, "endReason", worker.endReason().isEmpty() ? null : worker.endReason());
        put(members, "logStream", worker.logStream().isEmpty() ? null : worker.logStream());
        return members;
    }

    // Requests.

    private static List<Object> requests(List<RequestSnapshot> requests) {
        return requests.stream().map(Documents::request).toList();
    }

    private static Object request(RequestSnapshot request) {
        Map<String, Object> members = new LinkedHashMap<>();
        members.put("ageMillis", TimeUnit.NANOSECONDS.toMillis(request.ageNanos()));
        members.put("function", request.function());
        members.put("state", lower(request.state()));
        put(members, "worker", request.workerId());
        members.put("method", request.method());
        members.put("path", request.path());
        put(members, "client", text(request.remoteAddress()));
        put(members, "tenant", request.tenant());
        members.put("protocol", lower(request.protocol()));
        members.put("attempts", request.attempts());
        members.put("requestBytes", request.requestBytes());
        members.put("responseBytes", request.responseBytes());
        members.put("unreadBytes", request.unreadBytes());
        return members;
    }

    // Events.

    private List<Object> launches() {
        List<Object> all = new ArrayList<>();
        for (Recorder.Launch launch : recorder.launches()) {
            Map<String, Object> members = new LinkedHashMap<>();
            members.put("time", launch.time().toString());
            members.put("function", launch.function());
            members.put("worker", launch.worker());
            members.put("reason", launch.reason());
            Instant end = launch.end();
            members.put("outcome", end == null ? "running" : launch.failed() ? "failed" : "ended");
            put(members, "detail", launch.detail());
            put(members, "seconds", end == null ? null : seconds(Duration.between(launch.time(), end)));
            all.add(members);
        }
        return all;
    }

    private List<Object> failures() {
        List<Object> all = new ArrayList<>();
        for (Recorder.FailedRequest failed : recorder.failures().list()) {
            Map<String, Object> members = new LinkedHashMap<>();
            members.put("time", failed.time().toString());
            put(members, "function", failed.function());
            members.put("reason", failed.reason());
            members.put("status", failed.status());
            put(members, "worker", failed.worker());
            members.put("method", failed.method());
            members.put("path", failed.path());
            members.put("millis", failed.millis());
            all.add(members);
        }
        return all;
    }

    private List<Object> changes() {
        List<Object> all = new ArrayList<>();
        for (ChangeLog.LoggedChange change : recorder.changes().list()) {
            Map<String, Object> members = new LinkedHashMap<>();
            members.put("time", change.time().toString());
            members.put("kind", change.kind().token());
            put(members, "function", change.function());
            members.put("count", change.count());
            members.put("text", change.text());
            all.add(members);
        }
        return all;
    }

    private static void put(Map<String, Object> members, String name, @Nullable Object value) {
        if (value != null) {
            members.put(name, value);
        }
    }

    private static String lower(Enum<?> value) {
        return value.name().toLowerCase(Locale.ROOT);
    }

    private static @Nullable String text(@Nullable SocketAddress address) {
        return address instanceof InetSocketAddress inet && !inet.isUnresolved()
                ? inet.getAddress().getHostAddress() + ":" + inet.getPort()
                : address == null ? null : address.toString();
    }

    private static long seconds(Duration duration) {
        return Math.max(0, duration.toSeconds());
    }

    private static BigDecimal rounded(double value, int digits) {
        return BigDecimal.valueOf(value).setScale(digits, RoundingMode.HALF_UP);
    }
}
