package io.lambdadispatcher.core.internal.pool;

import io.lambdadispatcher.core.internal.loop.Incidents;
import io.lambdadispatcher.core.internal.policy.GroupHealth;
import io.lambdadispatcher.core.observe.Incident;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The worker connections of one function that are open for requests, and the judgement of their
 * workers. Base workers and launched workers are two groups. Each worker is compared with its own
 * kind.
 *
 * <p><i>Threading:</i> any thread.
 */
public final class OpenWorkers {
    private static final Logger log = LoggerFactory.getLogger(OpenWorkers.class);

    private final FunctionPool pool;
    private final GroupHealth baseHealth = new GroupHealth();
    private final GroupHealth launchedHealth = baseHealth.newOther();

    /** The array never changes. */
    private volatile PooledConnection[] open = {};

    /** The workers that are replaced soon. The set never changes. */
    private volatile Set<String> due = Set.of();

    /** The workers that are not needed, and drain soon without a replacement. Never changes. */
    private volatile Set<String> surplus = Set.of();

    /** The worker that is the handler in process, which serves no WebSockets, if there is one. */
    private volatile @Nullable String inProcess;

    /** Whether base workers and launched ones are open for requests. */
    private volatile boolean mixed;

    private volatile Incidents incidents = Incidents.unobserved();

    OpenWorkers(FunctionPool pool) {
        this.pool = pool;
    }

    /**
     * Returns the worker connections of all event loops that are open for requests. The caller must
     * not change the array.
     */
    PooledConnection[] all() {
        return open;
    }

    /** Returns how many connections of a worker are open for requests. */
    int connections(String workerId) {
        return (int) Arrays.stream(open)
                .filter(each -> each.workerId().equals(workerId))
                .count();
    }

    /** Sets which worker is the handler in process, before it is open for requests. */
    public void setInProcess(String workerId) {
        inProcess = workerId;
    }

    @Nullable
    String inProcess() {
        return inProcess;
    }

    boolean isAnyNotInProcess() {
        return Arrays.stream(open).anyMatch(each -> !each.workerId().equals(inProcess));
    }

    /** Records whether a worker connection is open for requests. */
    synchronized void setOpen(PooledConnection member, boolean isOpen) {
        List<PooledConnection> members = new ArrayList<>(List.of(open));
        if (isOpen) {
            members.add(member);
        } else {
            members.remove(member);
        }
        open = members.toArray(PooledConnection[]::new);
        boolean nowMixed =
                !idsOf(members, true).isEmpty() && !idsOf(members, false).isEmpty();
        if (nowMixed != mixed) {
            mixed = nowMixed;
            pool.onShards(shard -> shard.workers().preferBase());
        }
        // Last, because it can serve queued requests, which can close a connection meanwhile.
        if (healthOf(member.isBase()).setOpen(idsOf(members, member.isBase()))) {
            pool.onShards(shard -> shard.workers().ejector.onGroupChange());
        }
        endEjectionsIfNone();
    }

    private void endEjectionsIfNone() {
        if (baseHealth.isNoneEjected() && launchedHealth.isNoneEjected()) {
            incidents.end(Incident.Kind.WORKERS_EJECTED, pool.options().name(), "");
        }
    }

    /**
     * Returns how many workers serve only probes, because they are ejected.
     *
     * @param base whether to count base workers or launched ones
     */
    public int ejected(boolean base) {
        return healthOf(base).ejectedNow().size();
    }

    /** Returns the number of open worker streams, except those of ejected workers. */
    public int servingStreams() {
        Set<String> ejected = new HashSet<>(baseHealth.ejectedNow());
        ejected.addAll(launchedHealth.ejectedNow());
        int sum = pool.streams();
        for (PooledConnection member : ejected.isEmpty() ? new PooledConnection[0] : open) {
            sum -= ejected.contains(member.workerId()) ? member.streams.get() : 0;
        }
        return Math.max(0, sum);
    }

    /** Sets where ejections are reported. Call before the first worker connects. */
    public void reportTo(Incidents value) {
        incidents = value;
    }

    private static Set<String> idsOf(List<PooledConnection> members, boolean base) {
        return members.stream()
                .filter(each -> each.isBase() == base)
                .map(PooledConnection::workerId)
                .collect(Collectors.toSet());
    }

    GroupHealth healthOf(boolean base) {
        return base ? baseHealth : launchedHealth;
    }

    /**
     * Returns the target of base workers, as a part of their streams. Below it, they get requests
     * before launched workers do. 0 = all workers are of one kind, so none comes first.
     */
    double baseUtilization() {
        return mixed ? pool.options().capacity().targetUtilization() : 0;
    }

    /**
     * Returns the base connection with the fewest requests, of any event loop, that has room above
     * its target, too; {@code null} if there is none.
     */
    @Nullable
    PooledConnection leastBusyBase() {
        PooledConnection least = null;
        for (PooledConnection each : open) {
            if (each.hasBaseRoom() && (least == null || each.load() < least.load())) {
                least = each;
            }
        }
        return least;
    }

    /**
     * Sets which workers are replaced soon. Long exchanges avoid them as long as others can come.
     */
    public void setDue(Set<String> workerIds) {
        due = Set.copyOf(workerIds);
    }

    /**
     * Sets which workers are not needed, and drain soon without a replacement. Long exchanges begin
     * on them only if no other worker has room.
     */
    public void setSurplus(Set<String> workerIds) {
        surplus = Set.copyOf(workerIds);
    }

    /** Returns whether any worker is replaced soon. */
    boolean isAnyDue() {
        return !due.isEmpty();
    }

    /** Returns whether any worker is replaced soon, or drains soon without a replacement. */
    boolean isAnyLeaving() {
        return !due.isEmpty() || !surplus.isEmpty();
    }

    private boolean isLeaving(PooledConnection member) {
        return due.contains(member.workerId()) || surplus.contains(member.workerId());
    }

    /** Returns the open worker connections of the workers that do not leave soon. */
    PooledConnection[] staying() {
        PooledConnection[] all = open;
        return isAnyLeaving()
                ? Arrays.stream(all).filter(each -> !isLeaving(each)).toArray(PooledConnection[]::new)
                : all;
    }

    /**
     * Returns the connection with the fewest requests, of any event loop, that has room and whose
     * worker does not leave soon, or at least is not replaced soon; {@code null} if there is none.
     * Workers in doubt come last. Base workers below their target come first, and for a tunnel also
     * those above it.
     *
     * @param tried the workers of failed attempts, which must not be chosen
     */
    @Nullable
    PooledConnection leastBusyStaying(List<String> tried, boolean tunnel, long nowNanos) {
        PooledConnection least = leastBusyExcept(this::isLeaving, tried, tunnel, nowNanos);
        return least == null && !surplus.isEmpty()
                ? leastBusyExcept(each -> due.contains(each.workerId()), tried, tunnel, nowNanos)
                : least;
    }

    private @Nullable PooledConnection leastBusyExcept(
            Predicate<PooledConnection> leaves, List<String> tried, boolean tunnel, long nowNanos) {
        PooledConnection least = null;
        for (PooledConnection each : open) {
            if (isFree(each, tried)
                    && !leaves.test(each)
                    && (least == null || isBefore(each, least, tunnel, nowNanos))) {
                least = each;
            }
        }
        return least;
    }

    private static boolean isBefore(PooledConnection one, PooledConnection other, boolean tunnel, long nowNanos) {
        boolean doubted = one.seemsDoubted(nowNanos);
        if (doubted != other.seemsDoubted(nowNanos)) {
            return !doubted;
        }
        boolean first = tunnel ? one.isBase() : one.isPreferred();
        boolean otherFirst = tunnel ? other.isBase() : other.isPreferred();
        return first == otherFirst ? one.load() < other.load() : first;
    }

    /**
     * Returns the least busy connection with room of a worker that is not among {@code tried}, or
     * else of any but the handler in process; {@code null} if there is none.
     */
    @Nullable
    PooledConnection leastBusyNotInProcess(List<String> tried, long nowNanos) {
        Predicate<PooledConnection> excluded = each -> each.workerId().equals(inProcess);
        PooledConnection least = leastBusyExcept(excluded, tried, true, nowNanos);
        return least == null ? leastBusyExcept(excluded, List.of(), true, nowNanos) : least;
    }

    /** Returns whether a connection has room whose worker is not replaced soon. */
    boolean hasStaying(List<String> tried) {
        Set<String> leaving = due;
        return Arrays.stream(open).anyMatch(each -> isFree(each, tried) && !leaving.contains(each.workerId()));
    }

    private static boolean isFree(PooledConnection member, List<String> tried) {
        return member.hasRoom() && !tried.contains(member.workerId());
    }

    /** Compares the times of all workers of a kind, about once a second. Any event loop. */
    void look(boolean base, long nowNanos) {
        GroupHealth health = healthOf(base);
        if (health.isDue(nowNanos)) {
            health.onTypical(
                    nowNanos,
                    Arrays.stream(open)
                            .filter(each -> each.isBase() == base)
                            .mapToLong(PooledConnection::typicalNanos)
                            .filter(nanos -> nanos > 0)
                            .toArray());
        }
    }

    /** Ejects the worker of a connection, if the group permits it. The connection's event loop. */
    void eject(PooledConnection member) {
        String reason = Objects.requireNonNull(member.judge().reason(), "a verdict has a reason");
        if (beginEjection(member, reason)) {
            log.info(
                    "worker {} of function {} is ejected: {}",
                    member.workerId(),
                    pool.options().name(),
                    reason);
            pool.onShards(shard -> shard.workers().ejector.eject(member.workerId(), reason));
            pool.onShards(shard -> shard.workers().ejector.onGroupChange());
        }
    }

    boolean beginEjection(PooledConnection member, String reason) {
        Runnable news = tryEject(member, reason);
        if (news != null) {
            news.run();
        }
        return news != null;
    }

    /**
     * With the lock, as {@link #endEjection}, so that no incident ends that begins now.
     *
     * @return tells the observer; {@code null} if the group does not permit the ejection
     */
    private synchronized @Nullable Runnable tryEject(PooledConnection member, String reason) {
        return healthOf(member.isBase()).tryEject(member.workerId())
                ? incidents.beginUntold(
                        Incident.Kind.WORKERS_EJECTED,
                        pool.options().name(),
                        "",
                        "worker " + member.workerId() + ": " + reason)
                : null;
    }

    /** Ends the ejection of a worker, because it serves probes well. */
    void restore(PooledConnection member) {
        if (endEjection(member)) {
            log.info(
                    "worker {} of function {} is no longer ejected",
                    member.workerId(),
                    pool.options().name());
        }
        pool.onShards(shard -> shard.workers().ejector.restore(member.workerId()));
        pool.onShards(shard -> shard.workers().ejector.onGroupChange());
    }

    synchronized boolean endEjection(PooledConnection member) {
        boolean was = healthOf(member.isBase()).onReturned(member.workerId());
        if (was) {
            endEjectionsIfNone();
        }
        return was;
    }
}
