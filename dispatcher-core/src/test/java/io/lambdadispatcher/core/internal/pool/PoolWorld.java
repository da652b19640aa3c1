package io.lambdadispatcher.core.internal.pool;

import io.lambdadispatcher.core.internal.direct.DirectFunction;
import io.lambdadispatcher.core.internal.direct.DirectShard;
import io.lambdadispatcher.core.internal.exchange.ExchangeOwner;
import io.lambdadispatcher.core.internal.exchange.Failure;
import io.lambdadispatcher.core.internal.exchange.FunctionOpener;
import io.lambdadispatcher.core.options.Affinity;
import io.lambdadispatcher.core.options.DirectEventFormat;
import io.lambdadispatcher.core.options.DirectOptions;
import io.lambdadispatcher.core.options.FunctionOptions;
import io.lambdadispatcher.core.testkit.RecordingObserver;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.UnpooledByteBufAllocator;
import io.netty.channel.EventLoop;
import io.netty.channel.embedded.EmbeddedChannel;
import io.netty.handler.codec.http2.Http2Headers;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * A function's pool or direct mode, with clients, workers and an invoked function that call it at
 * random, as its contracts allow, also from within calls that they receive. All run on one or two
 * event loops of one thread, in virtual time. Each fault is an {@link AssertionError}.
 */
final class PoolWorld extends OnTwoLoops {
    /** How requests are served. */
    enum Kind {
        ONE_LOOP,
        TWO_LOOPS,
        /** By workers, or by invocations if there are none. */
        OVERFLOW,
        /** By invocations only. */
        DIRECT
    }

    /** In a request: the number of its client. In a response: the number of the call. */
    static final String ID = "x-id";

    private static final int MAX_SENT_BYTES = 16 * 1024 * 1024;
    private static final int MAX_ROUNDS = 10_000;

    final Random random;
    final List<RandomClient> clients = new ArrayList<>();
    final List<RandomCall> calls = new ArrayList<>();

    /** The last session that a response has named. */
    CharSequence session = "session";

    /** Whether workers and functions answer each request, and clients cancel none. */
    boolean calm;

    /** Whether workers answer few requests, so that rare failures happen to the same one. */
    final boolean isGrim;

    /** Whether the first workers are base workers, and the others launched ones. */
    private final boolean isMixed;

    private final Kind kind;
    private final RandomPolicies policies;
    private final RandomFunction function;
    private final DirectFunction direct;
    private final RecordingObserver observer = new RecordingObserver();
    private final FunctionPool pool;
    private final List<FunctionOpener> openers = new ArrayList<>();
    private final List<ExchangeOwner> owners = new ArrayList<>();
    private final List<RandomWorker> workers = new ArrayList<>();
    private final UnpooledByteBufAllocator allocator = new UnpooledByteBufAllocator(false, true);
    private final StringBuilder log = new StringBuilder();
    private final long beginNanos;
    private long freeBytes = Long.MAX_VALUE / 4;
    private boolean closed;
    private final Duration spilloverAfter;
    private final int maxConcurrent;

    /** Since when a request may overflow. */
    private long permittedSinceNanos;

    private @Nullable AssertionError fault;

    PoolWorld(Kind kind, Random random) {
        this.kind = kind;
        this.random = random;
        isGrim = oneIn(4);
        isMixed = oneIn(2);
        freeze();
        beginNanos = nowNanos();
        policies = new RandomPolicies(this);
        maxConcurrent = one(2, 1_000);
        spilloverAfter = Duration.ofMillis(one(10, 50));
        permittedSinceNanos = beginNanos;
        function = new RandomFunction(this, maxConcurrent);
        direct = new DirectFunction(
                "f",
                DirectOptions.builder(DirectEventFormat.HTTP_API_V2)
                        .maxConcurrentInvocations(maxConcurrent)
                        .maxBodyBytes(100_000)
                        .build(),
                function);
        List<EventLoop> used = kind == Kind.ONE_LOOP ? eventLoops().subList(0, 1) : eventLoops();
        pool = new FunctionPool(policies.options(), used, observer);
        used.forEach(this::addLoop);
        if (oneIn(16)) {
            freeBytes = 3_000;
        }
        if (oneIn(4)) {
            pool.setShared();
        }
        if (!oneIn(4)) {
            begin();
        }
    }

    private void addLoop(EventLoop loop) {
        DirectShard directShard = new DirectShard(pool.options(), direct, loop, observer);
        if (kind == Kind.DIRECT) {
            openers.add(directShard);
            owners.add(directShard);
            return;
        }
        PoolShard shard = pool.shard(openers.size());
        shard.limitMemoryBy(() -> freeBytes);
        if (kind == Kind.OVERFLOW) {
            shard.overflow(spilloverAfter, directShard::newOverflow);
        }
        openers.add(shard);
        owners.add(shard);
    }

    /** There was traffic before, so workers are there, and times of responses are known. */
    private void begin() {
        for (int i = 0; i < 100; i++) {
            owners.forEach(owner -> owner.onResponseTime(TimeUnit.MILLISECONDS.toNanos(200)));
        }
        for (int i = 0; i < (kind == Kind.OVERFLOW ? 1 : 4); i++) {
            connect();
        }
    }

    // For those who live here.

    boolean oneIn(int count) {
        return random.nextInt(count) == 0;
    }

    @SafeVarargs
    final <T> T one(T... choices) {
        return choices[random.nextInt(choices.length)];
    }

    /** Does this with one of the last: these are the ones that live. */
    <T> void any(List<T> all, Consumer<T> action) {
        if (!all.isEmpty()) {
            action.accept(all.get(Math.max(0, all.size() - 1 - random.nextInt(6))));
        }
    }

    long nowNanos() {
        return loops[0].eventLoop().ticker().nanoTime();
    }

    void note(Object who, Object what) {
        log.append((nowNanos() - beginNanos) / 1_000_000 + " " + who + ": " + what + "\n");
    }

    /** Keeps the first fault, because timers of an event loop swallow what their tasks throw. */
    void check(boolean right, String wrong) {
        if (!right) {
            AssertionError found = new AssertionError(wrong + ", after:\n" + log);
            fault = fault == null ? found : fault;
            throw found;
        }
    }

    /** Returns the bytes at this place of a body. At its end, the world verifies their release. */
    ByteBuf bytes(int body, int from, int count) {
        ByteBuf buffer = allocator.heapBuffer(Math.max(1, count));
        for (int i = 0; i < count; i++) {
            buffer.writeByte(body * 59 + (from + i) + (from + i) / 251);
        }
        return buffer;
    }

    void verify(ByteBuf data, int body, int from) {
        ByteBuf expected = bytes(body, from, data.readableBytes());
        check(expected.equals(data), "bytes behind the first " + from + " are wrong ones");
        expected.release();
    }

    void perhapsOpen(int loop) {
        if (!calm && live().count() < 6) {
            open(loop);
        }
    }

    /**
     * A request that no session binds goes to a base worker, on any loop, if one is below its
     * target, and it is not in doubt.
     */
    private void openAtRest(int loop) {
        settle();
        boolean room = hasPreferred() && openers.get(loop).policy().affinity() == Affinity.NONE;
        RandomClient client = open(loop);
        settle();
        check(!room || client.calls.isEmpty() || client.calls.get(0).ofBase, client + " is not the base's");
    }

    private boolean hasPreferred() {
        double target = pool.options().capacity().targetUtilization();
        boolean anyLaunched = workers.stream().anyMatch(each -> each.member.open && !each.member.isBase());
        return anyLaunched
                && workers.stream()
                        .map(each -> each.member)
                        .anyMatch(
                                each -> each.isBase() && !each.isDoubted(nowNanos()) && each.preferredRoom(target) > 0);
    }

    private RandomClient open(int loop) {
        FunctionOpener opener = openers.get(loop);
        RandomClient client = new RandomClient(this, loop, opener.policy());
        clients.add(client);
        client.open(opener);
        return client;
    }

    private Stream<RandomClient> live() {
        return clients.stream().filter(client -> !client.isOver());
    }

    RandomClient client(Http2Headers head) {
        return clients.get(Integer.parseInt(head.get(ID).toString()));
    }

    boolean isDirect() {
        return kind == Kind.DIRECT;
    }

    boolean isOverflow() {
        return kind == Kind.OVERFLOW;
    }

    boolean isCarried(RandomClient client) {
        return kind == Kind.DIRECT || client.calls.stream().anyMatch(call -> call.open);
    }

    // What happens.

    void step() {
        switch (random.nextInt(18)) {
            case 0 -> perhapsOpen(random.nextInt(openers.size()));
            case 1 -> {
                if (live().count() < 6) {
                    openAtRest(random.nextInt(openers.size()));
                }
            }
            case 2, 3, 4, 5, 6 -> any(clients, RandomClient::act);
            case 7, 8, 9, 10, 11 -> any(workers, RandomWorker::act);
            case 12 -> function.act();
            case 13 -> passTime(random.nextInt(one(60, 60, 60, 1_500)));
            case 14 -> change();
            case 15 -> loops[random.nextInt(2)].runPendingTasks();
            default -> passTime(random.nextInt(40));
        }
        workers.removeIf(worker -> worker.gone);
        if (oneIn(5)) {
            settle();
            verify();
        }
        rethrow();
    }

    /** No task is left when time passes, because the clocks of event loops stand in a turn. */
    private void passTime(int millis) {
        settle();
        pass(millis);
        settle();
        verify();
    }

    private void change() {
        switch (random.nextInt(10)) {
            case 0, 1, 2, 3 -> connect();
            case 4 -> setOptions(policies.options());
            case 5 -> pool.limit("worker" + random.nextInt(4), 1 + random.nextInt(3));
            case 6 -> permitOverflow(oneIn(2));
            default -> {
                if (oneIn(50)) {
                    note("dispatcher", "shuts down");
                    closed = true;
                    owners.forEach(owner -> owner.failQueued(new Failure(Failure.Kind.SHUTTING_DOWN, "for the test")));
                }
            }
        }
    }

    private void permitOverflow(boolean permitted) {
        if (permitted && !direct.permitsOverflow()) {
            permittedSinceNanos = nowNanos();
        }
        direct.permitOverflow(permitted);
    }

    private void connect() {
        if (kind != Kind.DIRECT && workers.size() < (kind == Kind.OVERFLOW ? 2 : 5)) {
            PoolShard shard = pool.shard(random.nextInt(openers.size()));
            int number = random.nextInt(5);
            workers.add(new RandomWorker(this, shard, "worker" + number, isMixed && number < 2));
        }
    }

    private void setOptions(FunctionOptions options) {
        note("options", options.traffic());
        pool.setOptions(options);
        owners.forEach(owner -> owner.setOptions(options));
    }

    /** Runs what follows from what has happened, on all event loops. */
    private void settle() {
        for (int i = 0; loops[0].hasPendingTasks() || loops[1].hasPendingTasks(); i++) {
            check(i < MAX_ROUNDS, "tasks follow each other without end");
            turn();
        }
        rethrow();
    }

    private void rethrow() {
        if (fault != null) {
            throw fault;
        }
    }

    // What must hold.

    /** Called when all that follows from what has happened has been done. */
    private void verify() {
        workers.forEach(RandomWorker::verify);
        live().forEach(RandomClient::verify);
        if (kind != Kind.DIRECT) {
            List<RandomClient> uncarried =
                    live().filter(client -> !isCarried(client)).toList();
            check(pool.queued() == uncarried.size(), pool.queued() + " are queued, not " + uncarried);
            check(!closed || uncarried.isEmpty(), uncarried + " are queued behind the end");
            if (kind == Kind.OVERFLOW && direct.permitsOverflow() && maxConcurrent > 2) {
                long since = nowNanos() - 2 * spilloverAfter.toNanos();
                check(
                        permittedSinceNanos > since || uncarried.stream().noneMatch(each -> each.mustOverflow(since)),
                        uncarried + " should have overflowed");
            }
            check(pool.pending() == 0 || pool.free() == 0, pool.pending() + " wait, and there are free streams");
            int streams = workers.stream().mapToInt(each -> each.streams.size()).sum();
            check(pool.streams() == streams, streams - pool.streams() + " streams are lost");
            pool.shards().forEach(this::verifyBasePermits);
            check(
                    pool.openWorkers.baseUtilization() > 0 == (isOpen(true) && isOpen(false)),
                    "the base comes first without launched workers, or does not with them");
        }
    }

    private boolean isOpen(boolean base) {
        return workers.stream().anyMatch(each -> each.member.open && each.member.isBase() == base);
    }

    private void verifyBasePermits(PoolShard shard) {
        double target = pool.openWorkers.baseUtilization();
        int preferred = workers.stream()
                .filter(each -> each.shard == shard && each.member.isBase() && target > 0)
                .mapToInt(each -> each.member.preferredRoom(target))
                .sum();
        check(
                shard.free.basePermits() == preferred,
                shard.free.basePermits() + " base permits for " + preferred + " requests");
    }

    /** Lets all requests end. Then nothing is left, and others are served as ever. */
    void end() {
        calm = true;
        permitOverflow(true);
        for (int round = 0; live().findAny().isPresent() || isBusy(); round++) {
            check(round < 200, live().toList() + " never end");
            finish();
        }
        finish();
        forget();
        if (!closed) {
            serveOthers();
        }
        workers.forEach(RandomWorker::lose);
        workers.clear();
        verifyMemory();
        passTime(1_000_000);
        forget();
        verifyEnd();
    }

    private boolean isBusy() {
        return !function.isIdle() || workers.stream().anyMatch(RandomWorker::isBusy);
    }

    /** After a time, the pool forgets what workers and clients did. */
    private void forget() {
        for (int i = 0; i < 40; i++) {
            passTime(500);
        }
    }

    private void finish() {
        if (workers.isEmpty()) {
            connect();
        }
        List.copyOf(clients).forEach(RandomClient::finish);
        settle();
        workers.forEach(RandomWorker::finish);
        function.finish();
        passTime(50);
    }

    /** No limit holds a place of a request that has ended, and no stream is lost. */
    private void serveOthers() {
        setOptions(policies.calm());
        for (int i = 0; i < 3; i++) {
            RandomClient client = open(i % openers.size());
            for (int round = 0; round < 20; round++) {
                finish();
            }
            check(client.isOver() && !client.hasFailed(), client + " has no response");
        }
    }

    /** What is counted for queued requests is counted off: if it were not, one could be queued. */
    private void verifyMemory() {
        freeBytes = 0;
        for (int loop = 0; kind != Kind.DIRECT && !closed && loop < openers.size(); loop++) {
            check(open(loop).hasFailed(), "the memory of queued requests is not counted off");
        }
    }

    private void verifyEnd() {
        check(owners.stream().allMatch(ExchangeOwner::isQuiet), "the pool is not quiet");
        check(owners.stream().allMatch(owner -> owner.timers().size() == 0), "timers are left");
        for (EmbeddedChannel loop : loops) {
            check(loop.runScheduledPendingTasks() < 0, "timers of an event loop are left");
        }
        check(pool.shares.size() == 0, pool.shares.size() + " shares of clients are left");
        check(pool.free() == 0, pool.free() + " permits are left");
        for (PoolShard shard : pool.shards()) {
            check(shard.free.permits() == 0, shard.free.permits() + " permits are left");
            check(shard.free.basePermits() == 0, shard.free.basePermits() + " base permits are left");
            check(shard.mayKeepSent(MAX_SENT_BYTES), "kept parts of bodies are not counted off");
            check(!shard.mayKeepSent(1), "kept parts of bodies are counted off twice");
        }
        observer.ends.forEach(end -> client(end.headers()).verifyReport(end));
        Stream<RandomClient> reported = observer.ends.stream().map(end -> client(end.headers()));
        check(reported.distinct().count() == clients.size(), "not all ends are reported");
        check(observer.ends.size() == clients.size(), "ends are reported twice");
        long bytes = allocator.metric().usedHeapMemory() + allocator.metric().usedDirectMemory();
        check(bytes == 0, "buffers of " + bytes + " bytes are not released");
    }
}
