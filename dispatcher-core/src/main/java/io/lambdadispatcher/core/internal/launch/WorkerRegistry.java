package io.lambdadispatcher.core.internal.launch;

import static io.netty.handler.codec.http.HttpResponseStatus.FORBIDDEN;
import static io.netty.handler.codec.http.HttpResponseStatus.TOO_MANY_REQUESTS;
import static io.netty.handler.codec.http.HttpResponseStatus.UNAUTHORIZED;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import io.lambdadispatcher.core.internal.capacity.WorkerFacts;
import io.lambdadispatcher.core.internal.capacity.WorkerReasons;
import io.lambdadispatcher.core.internal.fleet.SlotState;
import io.lambdadispatcher.core.internal.loop.Incidents;
import io.lambdadispatcher.core.internal.pool.FunctionPool;
import io.lambdadispatcher.core.internal.pool.WorkerUse;
import io.lambdadispatcher.core.internal.worker.WorkerEvents;
import io.lambdadispatcher.core.internal.worker.WorkerLink;
import io.lambdadispatcher.core.observe.Incident;
import io.lambdadispatcher.core.observe.PoolSnapshot;
import io.lambdadispatcher.core.observe.WorkerKind;
import io.lambdadispatcher.core.observe.WorkerSnapshot;
import io.lambdadispatcher.core.observe.WorkerSnapshot.State;
import io.lambdadispatcher.wire.http.PrintableText;
import io.lambdadispatcher.wire.worker.ControlMessage;
import io.lambdadispatcher.wire.worker.ControlMessage.DrainCode;
import io.lambdadispatcher.wire.worker.LaunchToken;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.util.concurrent.Ticker;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Tracks all connected workers, all launched workers that have not exited, and exited workers whose
 * launch token has not expired yet. Accepts or rejects workers that dial in.
 *
 * <p>A launch token is valid for one worker until that worker exits. Its expiry limits only the
 * first dial-in: a launched worker that has lost its connections dials in again with the same
 * token. The token becomes void when the worker says goodbye, or when the launcher reports its exit
 * or a failed launch. A worker that dials in later is rejected and exits, because nothing would
 * count, drain or replace it.
 *
 * <p><i>Threading:</i> any thread. Events are rare (a few per worker), so one lock guards all
 * state. Connections are called without the lock. Supervisors may be called with it; they only
 * schedule a task.
 */
public final class WorkerRegistry implements WorkerEvents {
    private static final Logger log = LoggerFactory.getLogger(WorkerRegistry.class);
    private static final int MAX_RETIRED = 100_000;

    /** A worker that may try again gets in within this time, or something is wrong. */
    private static final long PATIENCE_NANOS = TimeUnit.SECONDS.toNanos(15);

    /**
     * The answer to a worker that is not known yet (RFC 8470 section 5.2). Nothing between a worker
     * and a dispatcher gives it, unlike 503.
     */
    private static final HttpResponseStatus TOO_EARLY = HttpResponseStatus.valueOf(425, "Too Early");

    /** The time since which a worker is asked to try again, and when it was asked last. */
    private record Waiting(long sinceNanos, long lastNanos) {}

    private final Map<String, LaunchSupervisor> supervisors;

    @GuardedBy("this")
    private final Map<String, RegisteredWorker> workers = new LinkedHashMap<>();

    /**
     * The launched workers that have not exited, by id; {@code true} = the worker was accepted
     * before, so its token's expiry no longer counts.
     */
    @GuardedBy("this")
    private final Map<String, Boolean> launched = new HashMap<>();

    /** The exited workers, with a time by which their token has certainly expired. */
    @GuardedBy("this")
    private final Map<String, Instant> retired = new LinkedHashMap<>();

    @GuardedBy("this")
    private final Map<String, Waiting> waiting = new HashMap<>();

    private final Incidents incidents;
    private final Ticker ticker;

    /** Written with the lock. */
    private volatile List<String> peers = List.of();

    @GuardedBy("this")
    private @Nullable CompletableFuture<Void> empty;

    @GuardedBy("this")
    private boolean closing;

    /**
     * @param supervisors the supervisors of the functions whose workers this dispatcher launches,
     *     by function; must not change after the first worker dials in
     */
    public WorkerRegistry(Map<String, LaunchSupervisor> supervisors, Incidents incidents, Ticker ticker) {
        this.supervisors = supervisors;
        this.incidents = incidents;
        this.ticker = ticker;
    }

    /** Called with the lock, so that news of a worker arrives in order. */
    @GuardedBy("this")
    private void tellSupervisor(String function, Consumer<LaunchSupervisor> news) {
        LaunchSupervisor supervisor = supervisors.get(function);
        if (supervisor != null) {
            news.accept(supervisor);
        }
    }

    /** Records that a worker is about to be launched. */
    synchronized void onLaunched(String workerId) {
        launched.put(workerId, false);
    }

    /**
     * Records that the launcher reported a worker's exit. The worker is not accepted again after it
     * has lost its connections.
     */
    synchronized void onEnded(String workerId) {
        if (launched.remove(workerId) != null) {
            retire(workerId);
        }
    }

    /**
     * Returns the probable reason why a launched worker has never been accepted: the launcher has
     * given the worker the secret instead of the token, so that it has another id. Empty if the
     * worker was accepted, or all workers of the function were launched here.
     */
    synchronized String hintOnStrangers(String function, String workerId) {
        int strangers = 0;
        for (Map.Entry<String, RegisteredWorker> each : workers.entrySet()) {
            if (each.getValue().function.equals(function) && !launched.containsKey(each.getKey())) {
                strangers++;
            }
        }
        return strangers == 0 || !Boolean.FALSE.equals(launched.get(workerId))
                ? ""
                : ". Connected workers that were not launched here: " + strangers
                        + ". If the launcher has started them,"
                        + " it must give a worker the token of its LaunchRequest instead of the secret, see LaunchPayload";
    }

    /** Refuses a worker from now on, and says goodbye to it if it is connected. */
    void cutOff(String workerId, String text) {
        onEnded(workerId);
        connections(workerId).forEach(connection -> connection.dismiss(text));
    }

    public synchronized PoolSnapshot snapshot(FunctionPool pool) {
        String function = pool.options().name();
        int all = 0;
        int ejectedBase = pool.openWorkers().ejected(true);
        int ejectedLaunched = pool.openWorkers().ejected(false);
        int base = -ejectedBase;
        int launched = -ejectedLaunched;
        for (RegisteredWorker worker : workers.values()) {
            if (worker.function.equals(function)) {
                all++;
                base += worker.serves() && worker.isBase() ? 1 : 0;
                launched += worker.serves() && !worker.isBase() ? 1 : 0;
            }
        }
        int readyBase = Math.max(0, base);
        return new PoolSnapshot(
                function,
                all,
                readyBase + Math.max(0, launched),
                readyBase,
                ejectedBase + ejectedLaunched,
                pool.openWorkers().servingStreams(),
                pool.free(),
                pool.pending());
    }

    /** Returns how many workers are ready, ejected ones included. */
    public synchronized int readyWorkers(String function) {
        int ready = 0;
        for (RegisteredWorker worker : workers.values()) {
            ready += worker.function.equals(function) && worker.serves() ? 1 : 0;
        }
        return ready;
    }

    @Override
    public @Nullable Refusal admit(LaunchToken token, WorkerLink connection, boolean expired) {
        synchronized (this) {
            Refusal refusal = refusal(token, connection, expired);
            if (refusal != null) {
                return refusal;
            }
            workers.computeIfAbsent(token.workerId(), id -> new RegisteredWorker(token.function()))
                    .connections
                    .put(connection, false);
            launched.computeIfPresent(token.workerId(), (id, before) -> true);
            waiting.remove(token.workerId());
        }
        return null;
    }

    @GuardedBy("this")
    private @Nullable Refusal refusal(LaunchToken token, WorkerLink connection, boolean expired) {
        RegisteredWorker worker = workers.get(token.workerId());
        if (closing) {
            return new Refusal(HttpResponseStatus.SERVICE_UNAVAILABLE, null, "the dispatcher is shutting down");
        }
        if (worker != null) {
            return refusalOfOneMore(token, worker, connection.pool().options().connectionsPerWorker());
        }
        LaunchSupervisor supervisor = supervisors.get(token.function());
        if (supervisor != null
                && token.workerId().startsWith(LaunchToken.FLEET_WORKER_ID_PREFIX)
                && !launched.containsKey(token.workerId())) {
            return refusalByFleet(token, supervisor.slotState(token.workerId()));
        }
        if (expired && !launched.getOrDefault(token.workerId(), false)) {
            return new Refusal(
                    UNAUTHORIZED,
                    Rejection.EXPIRED,
                    "launch token of worker " + token.workerId() + " expired at " + token.expiry());
        }
        forgetExpired();
        return retired.containsKey(token.workerId())
                ? new Refusal(
                        FORBIDDEN,
                        Rejection.ENDED,
                        "worker " + token.workerId() + " has exited, or its launch has timed out")
                : null;
    }

    /**
     * Another dispatcher has launched the worker. Its token's expiry does not count if it has a
     * slot and has connected before, because then it lives.
     */
    @GuardedBy("this")
    private @Nullable Refusal refusalByFleet(LaunchToken token, SlotState state) {
        return switch (state) {
            case GRANTED -> null;
            case NOT_KNOWN ->
                notNow(
                        token,
                        TOO_EARLY,
                        Rejection.ENDED,
                        "worker " + token.workerId() + " is not known yet to this dispatcher of the fleet");
            case ENDED ->
                new Refusal(
                        FORBIDDEN,
                        Rejection.ENDED,
                        "another worker of the fleet may run in place of worker " + token.workerId());
        };
    }

    /** Asks the worker to try again. Nobody has to look at it unless it takes long. */
    @GuardedBy("this")
    private Refusal notNow(LaunchToken token, HttpResponseStatus status, Rejection ifItTakesLong, String reason) {
        long now = ticker.nanoTime();
        waiting.values().removeIf(wait -> now - wait.lastNanos() > PATIENCE_NANOS);
        Waiting wait = waiting.merge(
                token.workerId(), new Waiting(now, now), (first, again) -> new Waiting(first.sinceNanos(), now));
        boolean takesLong = now - wait.sinceNanos() > PATIENCE_NANOS;
        return new Refusal(status, takesLong ? ifItTakesLong : null, reason);
    }

    @GuardedBy("this")
    private @Nullable Refusal refusalOfOneMore(LaunchToken token, RegisteredWorker worker, int limit) {
        if (!worker.function.equals(token.function())) {
            return new Refusal(
                    FORBIDDEN,
                    Rejection.TOKEN,
                    "launch token of worker " + token.workerId()
                            + " names another function than the first token of this worker");
        }
        // The worker may try again: the dispatcher may not have noticed yet that a connection is
        // lost.
        return worker.connections.size() >= limit
                ? notNow(
                        token,
                        TOO_MANY_REQUESTS,
                        Rejection.LIMIT,
                        "worker " + token.workerId() + " already has the maximum of " + limit + " connections")
                : null;
    }

    @Override
    public synchronized WorkerKind onHello(WorkerLink connection, ControlMessage.Hello hello) {
        String id = connection.workerId();
        WorkerKind told = kindOf(id, hello);
        RegisteredWorker worker = workers.get(id);
        if (worker == null) {
            return told;
        }
        worker.version = hello.functionVersion();
        worker.logStream = hello.logStream();
        worker.zone = hello.zone();
        worker.deadline = connection.deadline();
        WorkerKind kind = worker.kind;
        if (kind == null) {
            worker.kind = told;
            tellSupervisor(worker.function, supervisor -> supervisor.onWorkerDialled(id, told));
            return told;
        }
        return kind;
    }

    /**
     * The one rule of what a base worker is: nobody has launched it for a time, so it states no
     * deadline, and neither this dispatcher nor another one of its fleet has launched it. A
     * deadline shows that the dispatcher before this one has launched the worker.
     */
    @GuardedBy("this")
    private WorkerKind kindOf(String workerId, ControlMessage.Hello hello) {
        boolean known = launched.containsKey(workerId) || workerId.startsWith(LaunchToken.FLEET_WORKER_ID_PREFIX);
        return known || hello.remainingMillis() != ControlMessage.Hello.NO_DEADLINE
                ? WorkerKind.LAUNCHED
                : WorkerKind.BASE;
    }

    /**
     * Describes the workers of a function that are starting or connected, from three places: this
     * registry knows their connections, the event loops what they do, and the capacity controller
     * how they were launched and whether they are ejected.
     *
     * @param supervisor {@code null} if the function's workers are not launched here
     */
    public CompletableFuture<List<WorkerSnapshot>> workers(FunctionPool pool, @Nullable LaunchSupervisor supervisor) {
        CompletableFuture<Map<String, WorkerFacts>> facts =
                supervisor == null ? CompletableFuture.completedFuture(Map.of()) : supervisor.facts();
        String function = pool.options().name();
        return pool.inspectWorkers().thenCombine(facts, (uses, known) -> workers(function, uses, known));
    }

    private synchronized List<WorkerSnapshot> workers(
            String function, Map<String, WorkerUse> uses, Map<String, WorkerFacts> facts) {
        List<WorkerSnapshot> found = new ArrayList<>();
        facts.forEach((id, known) -> {
            if (known.starting() && !workers.containsKey(id)) {
                found.add(snapshot(id, new RegisteredWorker(function), WorkerUse.NONE, known));
            }
        });
        workers.forEach((id, worker) -> {
            if (worker.function.equals(function)) {
                found.add(snapshot(id, worker, uses.getOrDefault(id, WorkerUse.NONE), facts.get(id)));
            }
        });
        return found;
    }

    @GuardedBy("this")
    private WorkerSnapshot snapshot(String id, RegisteredWorker worker, WorkerUse use, @Nullable WorkerFacts known) {
        String ejection = known == null || !worker.serves() ? null : known.ejection();
        String end = known == null ? "" : known.endReason();
        return new WorkerSnapshot(
                worker.function,
                id,
                ejection == null ? worker.state() : State.EJECTED,
                !worker.isBase(),
                worker.address(),
                known == null ? worker.since : Instant.now().minusNanos(known.ageNanos()),
                worker.deadline,
                worker.connections.size(),
                use.streams(),
                use.busy(),
                worker.serves() && ejection == null ? Math.min(use.limit(), use.streams()) : 0,
                use.completed(),
                use.failed(),
                worker.load,
                ejection,
                worker.version,
                worker.logStream,
                worker.zone,
                known == null ? "" : known.launchReason(),
                end.isEmpty() && worker.draining != null ? WorkerReasons.ofDrain(worker.draining) : end);
    }

    @Override
    public void onReadiness(WorkerLink connection, boolean ready) {
        synchronized (this) {
            RegisteredWorker worker = workers.get(connection.workerId());
            if (worker == null || worker.connections.replace(connection, ready) == null) {
                return;
            }
            tellChange(worker, connection, ready);
        }
    }

    /** Tells that a connection of a worker is ready, is not for now, or has closed. */
    @GuardedBy("this")
    private void tellChange(RegisteredWorker worker, WorkerLink connection, boolean ready) {
        if (worker.changesReadiness()) {
            tellReadiness(connection, ready);
        } else if (worker.serves()) {
            // The worker has other streams, and a limit must hold for a new connection, too.
            tellReady(connection);
        }
    }

    /** Logs and reports a change. */
    @GuardedBy("this")
    private void tellReadiness(WorkerLink connection, boolean ready) {
        String id = connection.workerId();
        String function = connection.pool().options().name();
        if (ready) {
            log.info("worker {} of function {} at {} is ready", id, function, connection.remoteAddress());
            tellReady(connection);
        } else {
            log.info("worker {} of function {} is no longer ready", id, function);
            tellSupervisor(function, supervisor -> supervisor.onWorkerUnready(id));
        }
    }

    @GuardedBy("this")
    private void tellReady(WorkerLink connection) {
        String id = connection.workerId();
        RegisteredWorker worker = workers.get(id);
        if (worker != null) {
            int streams = worker.readyStreams();
            String version = worker.version;
            tellSupervisor(
                    worker.function,
                    supervisor -> supervisor.onWorkerReady(id, streams, connection.deadline(), version));
        }
    }

    @Override
    public void onLoad(WorkerLink connection, ControlMessage.Load load) {
        synchronized (this) {
            RegisteredWorker worker = workers.get(connection.workerId());
            if (worker != null) {
                worker.load = new WorkerSnapshot.Load(load.cpuPermille(), load.memoryPermille(), load.loopLagMicros());
            }
            tellSupervisor(
                    connection.pool().options().name(),
                    supervisor -> supervisor.onWorkerLoad(connection.workerId(), load));
        }
    }

    @Override
    public void onDrain(WorkerLink connection, DrainCode reason) {
        synchronized (this) {
            if (!startDraining(connection.workerId(), reason)) {
                return;
            }
            String function = connection.pool().options().name();
            tellSupervisor(function, supervisor -> supervisor.onWorkerDraining(connection.workerId(), reason));
        }
        log.info("worker {} is draining: {}", connection.workerId(), PrintableText.of(reason));
    }

    private synchronized boolean startDraining(String workerId, DrainCode reason) {
        RegisteredWorker worker = workers.get(workerId);
        if (worker == null || worker.draining != null) {
            return false;
        }
        worker.draining = reason;
        return true;
    }

    @Override
    public void onGone(WorkerLink connection, Departure departure, String reason) {
        String function;
        String workerId = connection.workerId();
        boolean clean = departure == Departure.ENDED;
        CompletableFuture<Void> nowEmpty;
        synchronized (this) {
            RegisteredWorker worker = workers.get(connection.workerId());
            if (worker == null) {
                return;
            }
            worker.connections.remove(connection);
            if (!worker.connections.isEmpty()) {
                tellChange(worker, connection, false);
                return;
            }
            forget(connection.workerId(), clean);
            function = worker.function;
            nowEmpty = workers.isEmpty() ? empty : null;
            tellSupervisor(function, supervisor -> supervisor.onWorkerGone(connection.workerId(), clean));
        }
        log.info("worker {} of function {} has disconnected: {}", workerId, function, reason);
        if (departure == Departure.LOST) {
            incidents.count(Incident.Kind.WORKERS_LOST, function, "", () -> "worker " + workerId + ": " + reason);
        }
        if (nowEmpty != null) {
            nowEmpty.complete(null);
        }
    }

    // A lost worker may dial in again, but not one that has said goodbye.
    @GuardedBy("this")
    private void forget(String workerId, boolean clean) {
        workers.remove(workerId);
        if (clean) {
            launched.remove(workerId);
            retire(workerId);
        }
    }

    /**
     * Tells all workers, and those that connect later, which dispatchers share them.
     *
     * @param addresses the addresses that workers dial, as {@code host:port}, this dispatcher's
     *     first; empty if there is no fleet
     */
    public void setPeers(List<String> addresses) {
        List<WorkerLink> all = new ArrayList<>();
        synchronized (this) {
            peers = List.copyOf(addresses);
            workers.values().forEach(worker -> all.addAll(worker.connections.keySet()));
        }
        all.forEach(WorkerLink::onPeersChanged);
    }

    @Override
    public List<String> peers() {
        return peers;
    }

    /**
     * Tells a worker to exit after it has answered its requests in flight.
     *
     * @return whether the worker is connected and did not drain before
     */
    public boolean drain(String workerId, DrainCode reason, Duration grace) {
        if (!startDraining(workerId, reason)) {
            return false;
        }
        connections(workerId).forEach(connection -> connection.drain(reason, grace));
        return true;
    }

    /**
     * Tells a worker how many downstream connections it may have. One of its connections is enough,
     * and keeps the order.
     */
    void tellShare(String workerId, int connections) {
        connections(workerId).stream().findFirst().ifPresent(connection -> connection.tellShare(connections));
    }

    /** Rejects new workers and drains all others. Completes when no worker is connected. */
    public CompletionStage<Void> drainAll(Duration grace) {
        List<WorkerLink> all = new ArrayList<>();
        CompletableFuture<Void> done = new CompletableFuture<>();
        synchronized (this) {
            closing = true;
            empty = done;
            workers.values().forEach(worker -> {
                worker.draining = DrainCode.SHUTDOWN;
                all.addAll(worker.connections.keySet());
            });
            if (workers.isEmpty()) {
                done.complete(null);
            }
        }
        all.forEach(connection -> connection.drain(DrainCode.SHUTDOWN, grace));
        return done;
    }

    /** Says goodbye to all workers that are still connected. */
    public void goodbyeAll(String text) {
        List<String> ids;
        synchronized (this) {
            ids = List.copyOf(workers.keySet());
        }
        ids.forEach(id -> connections(id).forEach(connection -> connection.goodbye(text)));
    }

    private synchronized List<WorkerLink> connections(String workerId) {
        RegisteredWorker worker = workers.get(workerId);
        return worker == null ? List.of() : List.copyOf(worker.connections.keySet());
    }

    @GuardedBy("this")
    private void retire(String workerId) {
        retired.put(workerId, Instant.now().plus(LaunchToken.MAX_LIFE));
        if (retired.size() > MAX_RETIRED) {
            retired.remove(retired.keySet().iterator().next());
        }
    }

    @GuardedBy("this")
    private void forgetExpired() {
        Instant now = Instant.now();
        retired.values().removeIf(expiry -> expiry.isBefore(now));
    }
}
