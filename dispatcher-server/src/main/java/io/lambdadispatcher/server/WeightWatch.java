package io.lambdadispatcher.server;

import io.lambdadispatcher.core.observe.AnswerTally;
import io.lambdadispatcher.core.observe.DispatcherObserver;
import io.lambdadispatcher.core.observe.ExchangeEnd;
import io.lambdadispatcher.core.observe.ExchangeListener;
import io.lambdadispatcher.core.observe.ExchangeStart;
import io.lambdadispatcher.core.observe.ExtraAttempt;
import io.lambdadispatcher.core.observe.Outcome;
import io.lambdadispatcher.server.config.FunctionConfiguration;
import io.lambdadispatcher.server.config.Route;
import io.lambdadispatcher.server.task.Repeated;
import io.netty.util.concurrent.Future;
import io.netty.util.concurrent.GlobalEventExecutor;
import io.netty.util.concurrent.Ticker;
import java.net.SocketAddress;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Logs when one of the functions that share requests by weight is worse than another one, and when
 * it no longer is. Changes no weight: an operator does. The statistic is that of a change of the
 * version, over the answers of the last 5 to 10 minutes, so both functions are compared in the same
 * time. Unlike there, the times begin before a request's body has arrived, so those of requests
 * with a body do not count: they include the client's upload.
 *
 * <p>While no weights split the requests, it returns no listener, and nothing is counted.
 *
 * <p><i>Threading:</i> any thread. Event loops hold a lock only to add one answer, and few of them
 * share a lock.
 */
final class WeightWatch implements DispatcherObserver, AutoCloseable {
    private static final Logger log = LoggerFactory.getLogger(WeightWatch.class);

    private static final long LOOK_SECONDS = 10;
    private static final long PERIOD_NANOS = TimeUnit.MINUTES.toNanos(5);

    /** The recent answers of one function. Any thread adds, and only {@link #look} reads. */
    static final class Answers {
        static final int STRIPES = 8;

        /** Each is guarded by itself, and counts for some of the threads. */
        private volatile AnswerTally[] now = stripes();
        /** Those of the period before. */
        private AnswerTally[] before = stripes();

        private static AnswerTally[] stripes() {
            return Stream.generate(AnswerTally::new).limit(STRIPES).toArray(AnswerTally[]::new);
        }

        /** Returns what counts for this thread. */
        AnswerTally stripe() {
            return now[(int) Thread.currentThread().getId() & STRIPES - 1];
        }

        /** @param firstByteNanos negative = it does not count */
        void add(int requests, int failures, long firstByteNanos) {
            AnswerTally stripe = stripe();
            synchronized (stripe) {
                stripe.add(requests, failures);
                if (firstByteNanos >= 0) {
                    stripe.addTime(firstByteNanos);
                }
            }
        }

        AnswerTally recent() {
            AnswerTally sum = new AnswerTally();
            for (AnswerTally[] period : List.of(before, now)) {
                for (AnswerTally stripe : period) {
                    synchronized (stripe) {
                        sum.addAll(stripe);
                    }
                }
            }
            return sum;
        }

        void beginPeriod() {
            before = now;
            now = stripes();
        }
    }

    /** A function and its weight. */
    private record Share(String function, int weight) {
        @Override
        public String toString() {
            return "function " + function + " (weight " + weight + ")";
        }
    }

    /** Since when a worker has had connections, and how many it has. */
    private record Connected(long nanos, int connections) {
        Connected more(int by) {
            return new Connected(nanos, connections + by);
        }
    }

    private final Ticker ticker;
    private final ExchangeListener listener = this::onEnd;
    private final Map<String, Connected> workers = new ConcurrentHashMap<>();

    /** The answers of each function that shares requests, by its name. Not changed any more. */
    private volatile Map<String, Answers> answers = Map.of();

    // Guarded by this.

    /** Each function that shares requests, and the heaviest of the others on its route. */
    private Map<Share, Share> pairs = Map.of();
    /** The functions of which the log says that they are worse, and than which one. */
    private final Map<String, String> worse = new HashMap<>();
    /** The functions that a look of this period found worse, or that were when weights changed. */
    private final Set<String> worseInPeriod = new HashSet<>();

    private long periodNanos;

    private @Nullable Future<?> timer;

    WeightWatch(Ticker ticker) {
        this.ticker = ticker;
    }

    /** Starts to compare the functions every few seconds. */
    void start() {
        timer = GlobalEventExecutor.INSTANCE.scheduleAtFixedRate(
                new Repeated("comparing the functions that share a route", this::look),
                LOOK_SECONDS,
                LOOK_SECONDS,
                TimeUnit.SECONDS);
    }

    @Override
    public void close() {
        if (timer != null) {
            timer.cancel(false);
        }
    }

    /**
     * Takes the weights in force. If they have changed, counting begins again.
     *
     * @param functions all that share a route
     */
    synchronized void setFunctions(List<FunctionConfiguration> functions) {
        Map<Route, List<Share>> byRoute = new LinkedHashMap<>();
        for (FunctionConfiguration each : functions) {
            Route route = each.route();
            if (route.weight() > 0) {
                byRoute.computeIfAbsent(route.withoutWeight(), key -> new ArrayList<>())
                        .add(new Share(each.options().name(), route.weight()));
            }
        }
        Map<Share, Share> next = new LinkedHashMap<>();
        byRoute.values()
                .forEach(shares -> shares.forEach(share -> shares.stream()
                        .filter(each -> each != share)
                        .max(Comparator.comparingInt(Share::weight))
                        .ifPresent(other -> next.put(share, other))));
        if (next.equals(pairs)) {
            return;
        }
        pairs = next;
        Map<String, Answers> counted = new HashMap<>();
        Map<String, String> others = new HashMap<>();
        next.forEach((share, other) -> {
            counted.put(share.function, new Answers());
            others.put(share.function, other.function);
        });
        answers = counted;
        periodNanos = ticker.nanoTime();
        worse.entrySet().removeIf(was -> {
            boolean ends = !was.getValue().equals(others.get(was.getKey()));
            if (ends) {
                log.info("function {} is not compared with function {} any more", was.getKey(), was.getValue());
            }
            return ends;
        });
        worseInPeriod.clear();
        worseInPeriod.addAll(worse.keySet());
    }

    @Override
    public @Nullable ExchangeListener onExchangeStart(ExchangeStart start) {
        return answers.isEmpty() ? null : listener;
    }

    @Override
    public void onWorkerConnected(String function, String workerId, SocketAddress remote, int streams) {
        workers.merge(workerId, new Connected(ticker.nanoTime(), 1), (was, one) -> was.more(1));
    }

    @Override
    public void onWorkerDisconnected(String function, String workerId, boolean clean, String reason) {
        workers.computeIfPresent(workerId, (id, was) -> was.connections == 1 ? null : was.more(-1));
    }

    private void onEnd(ExchangeEnd end) {
        String function = end.function();
        Answers its = function == null ? null : answers.get(function);
        if (its == null || end.attempts() == 0 || end.shadowOf() != null) {
            return;
        }
        boolean byClient = end.outcome() == Outcome.CANCELLED || "too_large".equals(end.failure());
        boolean failed = !byClient && (end.outcome() == Outcome.FAILED || end.status() >= 500);
        int lost = end.extraAttempts(ExtraAttempt.LOST)
                + end.extraAttempts(ExtraAttempt.STATUS)
                + end.extraAttempts(ExtraAttempt.TIMEOUT);
        String worker = end.workerId();
        boolean timed = !byClient
                && !failed
                && end.attempts() == 1
                && end.requestBytes() == 0
                && worker != null
                && !isCold(worker);
        its.add(
                lost + (byClient ? 0 : 1),
                lost + (failed ? 1 : 0),
                timed ? end.firstByteNanos() - end.queueNanos() : -1);
    }

    private boolean isCold(String workerId) {
        Connected worker = workers.get(workerId);
        return worker != null && ticker.nanoTime() - worker.nanos < AnswerTally.COLD_NANOS;
    }

    /** Compares the functions. */
    synchronized void look() {
        boolean periodEnds = ticker.nanoTime() - periodNanos >= PERIOD_NANOS;
        pairs.forEach((share, other) -> compare(share, other, periodEnds));
        if (periodEnds) {
            periodNanos = ticker.nanoTime();
            answers.values().forEach(Answers::beginPeriod);
            worseInPeriod.clear();
        }
    }

    /**
     * @param periodEnds whether half of the answers will be forgotten. Only then can a function be
     *     found not worse any more: at other looks, there may be too few answers to see that it is
     */
    private void compare(Share share, Share other, boolean periodEnds) {
        AnswerTally own = Objects.requireNonNull(answers.get(share.function)).recent();
        AnswerTally others = Objects.requireNonNull(answers.get(other.function)).recent();
        if (!own.isConclusive() || !others.isConclusive()) {
            return;
        }
        String problem = own.problem("function " + share.function, others, "function " + other.function);
        if (problem != null) {
            worseInPeriod.add(share.function);
            if (worse.put(share.function, other.function) == null) {
                log.warn("{} is worse than {}: {}", share, other, problem);
            }
        } else if (periodEnds && !worseInPeriod.contains(share.function) && worse.remove(share.function) != null) {
            log.info("{} is not worse than {} any more", share, other);
        }
    }
}
