package io.lambdadispatcher.core.internal.pool;

import io.lambdadispatcher.core.internal.capacity.Demand.WorkerDemand;
import io.lambdadispatcher.core.internal.exchange.Carrier;
import io.lambdadispatcher.core.internal.policy.GroupHealth;
import io.lambdadispatcher.core.internal.policy.Rendezvous;
import io.lambdadispatcher.core.internal.policy.SlowStart;
import io.lambdadispatcher.core.internal.policy.WorkerHealth;
import io.lambdadispatcher.core.internal.policy.WorkerHealth.Verdict;
import io.lambdadispatcher.core.internal.policy.WorkerTag;
import io.lambdadispatcher.core.observe.ServiceTimes;
import io.lambdadispatcher.core.observe.WorkerKind;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.ArrayDeque;
import java.util.Objects;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * A worker connection in its pool shard: its free worker streams, the number of busy ones, and how
 * its exchanges ended. Confined to the connection's event loop, except for what affinity reads.
 * Only {@link ShardWorkers} and {@link FreeStreams} change its streams.
 */
public final class PooledConnection extends LeastOutstanding.Entry implements Rendezvous.Candidate {
    private static final VarHandle BUSY = handle(PooledConnection.class, "busy", int.class);
    private static final VarHandle OFFERED = handle(PooledConnection.class, "offered", int.class);
    private static final VarHandle BASE_PERMITS = handle(Preference.class, "permits", int.class);
    private static final VarHandle DISTRUSTED = handle(Preference.class, "distrusted", boolean.class);

    /**
     * The CPU time by which requests may be delayed so that several are sent to this worker in one
     * turn. A packet for each request costs the dispatcher and the worker far more than this delay
     * costs the client.
     */
    private static final int BATCH_CPU_MICROS = 250;

    private static final int MAX_BATCH = 50;

    /** The time of an answer that did not come. */
    public static final long UNANSWERED = Long.MIN_VALUE;

    private static final long FIRST_WAIT_NANOS = TimeUnit.MILLISECONDS.toNanos(5);
    private static final long MAX_WAIT_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

    private final String workerId;
    private final long tag;

    /** The shard of the connection, which {@link ShardWorkers#onMember} sets. */
    @Nullable
    PoolShard shard;

    final ArrayDeque<Carrier> free = new ArrayDeque<>();
    /**
     * Worker streams that carry an exchange, or a cancelled one that the worker has not ended yet.
     */
    int busy;

    int peakBusy;

    boolean open;

    /** Open worker streams. Any thread can read it. */
    final AtomicInteger streams = new AtomicInteger();

    /** The maximum number of concurrent exchanges: the lesser of {@link #limits}. */
    int limit = Integer.MAX_VALUE;

    private final Limits limits = new Limits();

    /** Who limits the concurrent exchanges. */
    private static final class Limits {
        /** The dispatcher does, because the worker's reports show overload. */
        int imposed = Integer.MAX_VALUE;
        /** The worker does. */
        int stated = Integer.MAX_VALUE;
    }

    /**
     * The maximum number of concurrent exchanges because other dispatchers use the worker. After a
     * BUSY, this dispatcher has as many as fit. When one of them ends, another may begin. After a
     * wait, one more is tried, then two more, and so on.
     */
    private int room = Integer.MAX_VALUE;

    private int trial;
    private long trialWaitNanos = FIRST_WAIT_NANOS;
    private boolean tried;

    /** Set while {@link #room} limits the exchanges. */
    @Nullable
    Future<?> trialTimer;

    /** The number of permits that this connection contributes to the shard. */
    int offered;

    /** Whether it is among the preferred candidates of {@link FreeStreams}. */
    boolean isFirst;

    final Preference preference = new Preference();

    /** How far a base worker comes before launched ones. {@link FreeStreams} changes it. */
    static final class Preference {
        /** Whether the connection is one of a base worker. */
        private boolean base;

        /** The number of base permits that this connection contributes to the shard. */
        int permits;

        /** Whether the worker was in doubt when {@link #permits} was calculated. */
        boolean distrusted;

        /** Whether {@link #permits} is calculated again soon, because the worker is in doubt. */
        boolean looksAgain;
    }

    /** The number of exchanges by which this connection may exceed the least busy one. */
    int batch;

    /** How much slower the worker is than others, because it is fresh: {@link SlowStart}. */
    int slowness = SlowStart.ONE;

    /** Whether the worker has just started. */
    boolean fresh;

    /** What is added to the rank, because the worker is in another availability zone. */
    private int zonePenalty;

    /** Set by {@link ShardWorkers#onMember}. */
    @Nullable
    WorkerHealth health;

    /** Set while the worker is ejected and waits for a probe. */
    @Nullable
    Future<?> probeTimer;

    private final Outcomes outcomes = new Outcomes();

    /** How many exchanges began and how they ended, since the connection opened. */
    private static final class Outcomes {
        long started;
        long completed;
        long failed;
        /** Times to the first byte since the latest sample; {@code null} = there were none. */
        @Nullable
        ServiceTimes answerTimes;
        /** Whether somebody takes samples. Without a launcher, nobody does. */
        boolean sampled;

        void onAnswered(long nanos) {
            if (sampled) {
                ServiceTimes times = answerTimes;
                if (times == null) {
                    times = new ServiceTimes();
                    answerTimes = times;
                }
                times.record(nanos);
            }
        }
    }

    /** Creates the connection of a launched worker. */
    public PooledConnection(String workerId) {
        this.workerId = workerId;
        this.tag = WorkerTag.of(workerId);
    }

    /** Sets the maximum number of concurrent exchanges because the worker is overloaded. */
    void impose(int exchanges) {
        limits.imposed = exchanges;
        limit = Math.min(exchanges, limits.stated);
    }

    /** Sets the maximum number of concurrent exchanges because the worker asks for it. */
    void onStated(int exchanges) {
        limits.stated = exchanges;
        limit = Math.min(exchanges, limits.imposed);
    }

    /** Sets the kind of the worker. Call before {@link ShardWorkers#onMember}. */
    public void setKind(WorkerKind kind) {
        preference.base = kind == WorkerKind.BASE;
    }

    private static VarHandle handle(Class<?> owner, String field, Class<?> type) {
        try {
            return MethodHandles.lookup().findVarHandle(owner, field, type);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    @Override
    public long tag() {
        return tag;
    }

    /** Any thread. Other threads may see an earlier number. */
    @Override
    public int load() {
        return (int) BUSY.getOpaque(this);
    }

    /** Any thread. Other threads may see an earlier state, so the shard decides again. */
    @Override
    public boolean hasRoom() {
        PoolShard its = shard;
        return its != null && (int) OFFERED.getOpaque(this) > 0 && its.free.permits() > 0;
    }

    @Override
    public boolean isBase() {
        return preference.base;
    }

    /** Any thread. */
    @Override
    public boolean isEjected() {
        PoolShard its = shard;
        GroupHealth group = its == null ? null : its.pool().openWorkers.healthOf(isBase());
        return group != null && !group.areAllEjected() && group.isEjected(workerId);
    }

    /** Any thread. Other threads may see an earlier state, so the shard decides again. */
    @Override
    public boolean isPreferred() {
        return (int) BASE_PERMITS.getOpaque(preference) > 0;
    }

    /**
     * Returns whether a base worker that is not in doubt has a free stream, below or above its
     * target. Any thread. Other threads may see an earlier state, so the shard decides again.
     */
    boolean hasBaseRoom() {
        return preference.base && !(boolean) DISTRUSTED.getOpaque(preference) && hasRoom();
    }

    /**
     * Returns how many requests should come here before they go to launched workers: none if the
     * worker is in doubt, and otherwise as many as fit below its target.
     *
     * @param utilization the target, as a part of the worker's streams
     */
    int preferredRoom(double utilization) {
        int concurrency = Math.min(free.size() + busy, Math.min(limit, room));
        int target = Math.max(1, (int) Math.round(concurrency * utilization));
        return preference.distrusted ? 0 : Math.max(0, Math.min(offered, target - busy));
    }

    /**
     * Records that the worker refused a request. This is no failure if the connection is no longer
     * open for requests: the request and the worker's message crossed on the network.
     */
    public void onRefused() {
        onExchangeEnd(open);
    }

    /**
     * Records that an exchange has ended whose times are not known.
     *
     * @param failure whether there was no response, an incomplete one, or one with a status of 500
     *     or above
     */
    public void onExchangeEnd(boolean failure) {
        long now = shard == null ? 0 : shard.nanoTime();
        onExchangeEnd(failure, now, now);
    }

    /**
     * Records that an exchange has ended.
     *
     * @param failure whether there was no response, an incomplete one, or one with a status of 500
     *     or above
     * @param beginNanos when it began, or when its request has ended, if that was before the
     *     response
     * @param answerNanos when the response began; {@link #UNANSWERED} = there was none
     */
    public void onExchangeEnd(boolean failure, long beginNanos, long answerNanos) {
        outcomes.completed++;
        outcomes.failed += failure ? 1 : 0;
        PoolShard its = shard;
        if (its != null && health != null) {
            boolean answered = answerNanos != UNANSWERED;
            long now = its.nanoTime();
            long waited = (answered ? answerNanos : now) - beginNanos;
            if (answered && !failure) {
                outcomes.onAnswered(waited);
            }
            Verdict verdict = health.onEnd(now, beginNanos, waited, answered, failure);
            if (verdict != Verdict.NONE) {
                its.workers().ejector.onVerdict(this, verdict);
            }
            its.pool().openWorkers.look(preference.base, now);
        }
    }

    /** An exchange has ended that says nothing of the worker. Its stream becomes free later. */
    public void onUnjudged() {
        if (health != null) {
            health.onUnjudged();
        }
    }

    /** Returns the judge of the worker, which a connection in a pool has. */
    WorkerHealth judge() {
        return Objects.requireNonNull(health, "the connection is in no pool");
    }

    /** Records that the response of an exchange begins. */
    public void onAnswer(long nowNanos) {
        if (health != null) {
            health.onAnswer(nowNanos);
        }
    }

    /** Records that an attempt was given up for another worker, which policies ask for. */
    void onGivenUp(long nowNanos) {
        if (health != null) {
            health.onDoubt(nowNanos);
        }
    }

    /**
     * Records how much CPU time the worker uses for a request.
     *
     * @param micros 0 = not known
     */
    public void onRequestCpu(int micros) {
        batch = micros <= 0 ? 0 : Math.min(MAX_BATCH, BATCH_CPU_MICROS / micros);
    }

    /**
     * Records that the worker is in another availability zone, to which data takes longer and is
     * not free. Workers in the dispatcher's own zone come first until they have more exchanges than
     * this one by half of its streams.
     */
    public void onOtherZone(int streams) {
        zonePenalty = (streams + 1) / 2;
    }

    /**
     * Returns the rank among the worker connections: the lowest rank is chosen first, except for
     * workers that are in doubt. It is the number of exchanges in flight, and more for a worker in
     * another zone or a fresh one.
     */
    int rank() {
        int rank = busy + zonePenalty;
        return slowness == SlowStart.ONE ? rank : SlowStart.multiply(rank, slowness);
    }

    /** Returns whether other workers should get the next exchange, if they have room. */
    boolean isDoubted(long nowNanos) {
        return hasJustFailed(nowNanos) || health != null && health.isQuiet(nowNanos, busy == 0);
    }

    /** As {@link #isDoubted}. Any thread. Other threads may see an earlier state. */
    boolean seemsDoubted(long nowNanos) {
        WorkerHealth its = health;
        return its != null && its.seemsDoubted(nowNanos, load() == 0);
    }

    boolean hasJustFailed(long nowNanos) {
        return health != null && health.hasJustFailed(nowNanos, busy == 0);
    }

    /** An exchange takes a free stream. */
    Carrier take(long nowNanos) {
        if (health != null) {
            health.onBegin(nowNanos, busy == 0);
        }
        busy++;
        peakBusy = Math.max(peakBusy, busy);
        outcomes.started++;
        return free.pop();
    }

    int offers() {
        int most = health == null ? Integer.MAX_VALUE : health.limit();
        return open ? Math.max(0, Math.min(Math.min(free.size(), most), Math.min(limit, room) - busy)) : 0;
    }

    /**
     * The worker had no room for one of the busy streams' exchanges.
     *
     * @return whether a new wait begins
     */
    boolean onBusy() {
        onUnjudged();
        room = Math.min(room, busy - 1);
        trial = 1;
        boolean again = tried;
        if (again) {
            tried = false;
            trialWaitNanos = Math.min(MAX_WAIT_NANOS, 2 * trialWaitNanos);
        }
        return again || trialTimer == null;
    }

    /** Returns how many of its streams other dispatchers use, as far as the worker has said so. */
    int taken() {
        return open ? Math.max(0, Math.min(limit, busy + free.size()) - Math.max(room, busy)) : 0;
    }

    /** The worker keeps room for one more exchange. */
    void onRoom() {
        room = Math.max(room, busy + 1);
    }

    /**
     * The wait is over. The worker may have more room.
     *
     * @return whether another wait begins
     */
    boolean onTrial() {
        if (tried) {
            trialWaitNanos = FIRST_WAIT_NANOS;
        }
        tried = true;
        room = Math.max(room, busy + trial);
        trial *= 2;
        if (room < busy + free.size()) {
            return true;
        }
        room = Integer.MAX_VALUE;
        return false;
    }

    long trialWaitNanos() {
        return trialWaitNanos;
    }

    /** Returns how many worker streams carry an exchange. Event loop only. */
    public int busy() {
        return busy;
    }

    WorkerUse use() {
        return new WorkerUse(free.size() + busy, busy, open ? limit : 0, outcomes.completed, outcomes.failed);
    }

    /**
     * Returns the totals since the connection opened, and the peak and the times since the previous
     * call.
     */
    WorkerDemand sample() {
        WorkerDemand sample = new WorkerDemand(
                workerId,
                open ? Math.min(free.size() + busy, limits.stated) : 0,
                busy,
                peakBusy,
                outcomes.completed,
                outcomes.failed,
                outcomes.answerTimes,
                health == null ? 0 : health.ejections(),
                health == null || !health.isEjected() ? null : health.reason());
        peakBusy = busy;
        outcomes.answerTimes = null;
        outcomes.sampled = true;
        return sample;
    }

    /** Returns the typical time to the first byte; 0 = not known. Any thread. */
    long typicalNanos() {
        return health == null ? 0 : health.typicalNanos();
    }

    /** Returns how many exchanges have begun since the connection opened. */
    public long started() {
        return outcomes.started;
    }

    public String workerId() {
        return workerId;
    }
}
