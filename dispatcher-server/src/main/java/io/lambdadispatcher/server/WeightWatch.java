package io.lambdadispatcher.server;

import io.lambdadispatcher.core.observe.AnswerTally;
import io.lambdadispatcher.core.observe.DispatcherObserver;
import io.lambdadispatcher.core.observe.ExchangeEnd;
import io.lambdadispatcher.core.observe.ExchangeListener;
import io.lambdadispatcher.core.observe.ExchangeStart;
import io.lambdadispatcher.core.observe.Outcome;
import io.lambdadispatcher.server.config.FunctionConfiguration;
import io.lambdadispatcher.server.config.Route;
import io.netty.util.concurrent.Future;
import io.netty.util.concurrent.GlobalEventExecutor;
import io.netty.util.concurrent.Ticker;
import java.net.SocketAddress;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Logs when one of the functions that share requests by weight is worse than another one, and when
 * it no longer is. Changes no weight: an operator does. The comparison is that of a change of the
 * version, over the answers of the last 5 to 10 minutes, so both functions are compared in the same
 * time.
 *
 * <p>While no weights split the requests, it returns no listener, and nothing is counted.
 *
 * <p><i>Threading:</i> any thread. Event loops hold a lock only to add one answer.
 */
final class WeightWatch implements DispatcherObserver, AutoCloseable {
    private static final Logger log = LoggerFactory.getLogger(WeightWatch.class);

    private static final long LOOK_SECONDS = 10;
    private static final long PERIOD_NANOS = TimeUnit.MINUTES.toNanos(5);

    /** The recent answers of one function. */
    private static final class Answers {
        private AnswerTally now = new AnswerTally();
        /** Those of the period before. */
        private AnswerTally before = new AnswerTally();

        /** @param firstByteNanos negative = it does not count */
        synchronized void add(boolean failed, long firstByteNanos) {
            now.add(1, failed ? 1 : 0);
            if (!failed && firstByteNanos >= 0) {
                now.addTime(firstByteNanos);
            }
        }

        synchronized AnswerTally recent() {
            AnswerTally sum = new AnswerTally();
            sum.addAll(before);
            sum.addAll(now);
            return sum;
        }

        synchronized void beginPeriod() {
            before = now;
            now = new AnswerTally();
        }
    }

    /** A function and its weight. */
    private record Share(String function, int weight) {
        @Override
        public String toString() {
            return "function " + function + " (weight " + weight + ")";
        }
    }

    private final Ticker ticker;
    private final ExchangeListener listener = this::onEnd;
    private final Map<String, Long> connectedNanos = new ConcurrentHashMap<>();

    /** The answers of each function that shares requests, by its name. Not changed any more. */
    private volatile Map<String, Answers> answers = Map.of();

    // Guarded by this.

    /** The functions of each route that share its requests, each with a weight above 0. */
    private List<List<Share>> splits = List.of();
    /** The functions of which the log says that they are worse. */
    private final Set<String> worse = new HashSet<>();

    private long periodNanos;

    private @Nullable Future<?> timer;

    WeightWatch(Ticker ticker) {
        this.ticker = ticker;
    }

    /** Starts to compare the functions every few seconds. */
    void start() {
        timer = GlobalEventExecutor.INSTANCE.scheduleAtFixedRate(
                this::look, LOOK_SECONDS, LOOK_SECONDS, TimeUnit.SECONDS);
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
        List<List<Share>> next =
                byRoute.values().stream().filter(shares -> shares.size() > 1).toList();
        if (next.equals(splits)) {
            return;
        }
        splits = next;
        Map<String, Answers> counted = new HashMap<>();
        next.forEach(shares -> shares.forEach(share -> counted.put(share.function, new Answers())));
        answers = counted;
        periodNanos = ticker.nanoTime();
        for (String function : List.copyOf(worse)) {
            if (!counted.containsKey(function)) {
                worse.remove(function);
                log.info("function {} shares no requests by weight any more, so it is not compared", function);
            }
        }
    }

    @Override
    public @Nullable ExchangeListener onExchangeStart(ExchangeStart start) {
        return answers.isEmpty() ? null : listener;
    }

    @Override
    public void onWorkerConnected(String function, String workerId, SocketAddress remote, int streams) {
        connectedNanos.putIfAbsent(workerId, ticker.nanoTime());
    }

    @Override
    public void onWorkerDisconnected(String function, String workerId, boolean clean, String reason) {
        connectedNanos.remove(workerId);
    }

    private void onEnd(ExchangeEnd end) {
        String function = end.function();
        Answers its = function == null ? null : answers.get(function);
        if (its == null || end.attempts() == 0 || end.shadowOf() != null) {
            return;
        }
        boolean failed = end.outcome() == Outcome.FAILED || end.status() >= 500;
        boolean byClient = end.outcome() == Outcome.CANCELLED || failed && end.status() >= 400 && end.status() < 500;
        if (!byClient) {
            its.add(failed, isCold(end.workerId()) ? -1 : end.firstByteNanos() - end.queueNanos());
        }
    }

    private boolean isCold(@Nullable String workerId) {
        Long since = workerId == null ? null : connectedNanos.get(workerId);
        return since != null && ticker.nanoTime() - since < AnswerTally.COLD_NANOS;
    }

    /** Compares the functions. */
    synchronized void look() {
        splits.forEach(this::compare);
        if (ticker.nanoTime() - periodNanos >= PERIOD_NANOS) {
            periodNanos = ticker.nanoTime();
            answers.values().forEach(Answers::beginPeriod);
        }
    }

    /** Compares each function with the heaviest of the others, and that one with the next. */
    private void compare(List<Share> shares) {
        for (Share share : shares) {
            Share other = share;
            for (Share each : shares) {
                boolean heavier = other == share || each.weight > other.weight;
                other = each != share && heavier ? each : other;
            }
            compare(share, other);
        }
    }

    private void compare(Share share, Share other) {
        AnswerTally own = answers.get(share.function).recent();
        AnswerTally others = answers.get(other.function).recent();
        if (!own.isConclusive() || !others.isConclusive()) {
            return;
        }
        String problem = own.problem("function " + share.function, others, "function " + other.function);
        if (problem == null && worse.remove(share.function)) {
            log.info("{} is not worse than {} any more", share, other);
        } else if (problem != null && worse.add(share.function)) {
            log.warn("{} is worse than {}: {}", share, other, problem);
        }
    }
}
