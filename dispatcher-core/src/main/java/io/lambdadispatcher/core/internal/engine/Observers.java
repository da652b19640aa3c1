package io.lambdadispatcher.core.internal.engine;

import io.lambdadispatcher.core.internal.loop.SeldomLog;
import io.lambdadispatcher.core.observe.BreakerState;
import io.lambdadispatcher.core.observe.DispatcherObserver;
import io.lambdadispatcher.core.observe.ExchangeEnd;
import io.lambdadispatcher.core.observe.ExchangeListener;
import io.lambdadispatcher.core.observe.ExchangeStart;
import io.lambdadispatcher.core.observe.FilterEvent;
import io.lambdadispatcher.core.observe.Incident;
import io.lambdadispatcher.core.observe.Protection;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.util.concurrent.Ticker;
import java.net.SocketAddress;
import java.util.List;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Calls the program's observers in their order. An exception of an observer is logged. It affects
 * neither the other observers nor the exchange or worker stream. Any thread.
 */
public final class Observers implements DispatcherObserver {
    private static final Logger log = LoggerFactory.getLogger(Observers.class);

    private final List<DispatcherObserver> all;
    /**
     * The latest listener that joins those of an observer and of its predecessors, by the index of
     * the observer. Event loops may overwrite each other's entries.
     */
    private final @Nullable Pair[] joined;

    private final SeldomLog failures = new SeldomLog(log, Ticker.systemTicker());

    private Observers(List<DispatcherObserver> all) {
        this.all = all;
        joined = new Pair[all.size()];
    }

    /**
     * Returns {@link DispatcherObserver#NONE} if there are no observers, because exchanges then
     * skip what only observers need.
     */
    public static DispatcherObserver of(List<DispatcherObserver> observers) {
        List<DispatcherObserver> all = observers.stream()
                .filter(observer -> observer != DispatcherObserver.NONE)
                .toList();
        return all.isEmpty() ? DispatcherObserver.NONE : new Observers(all);
    }

    /**
     * Uses neither an iterator nor the object that {@link #tell} takes, because it is called for
     * each request.
     */
    @Override
    public @Nullable ExchangeListener onExchangeStart(ExchangeStart start) {
        ExchangeListener listeners = null;
        for (int i = 0; i < all.size(); i++) {
            ExchangeListener next = listenerOf(all.get(i), start);
            if (next != null) {
                listeners = listeners == null ? next : both(i, listeners, next);
            }
        }
        return listeners;
    }

    private @Nullable ExchangeListener listenerOf(DispatcherObserver observer, ExchangeStart start) {
        try {
            return observer.onExchangeStart(start);
        } catch (Throwable e) {
            onFailed(observer, "onExchangeStart", e);
            return null;
        }
    }

    /** Most observers return the same listener each time. Then nothing is allocated. */
    private ExchangeListener both(int index, ExchangeListener first, ExchangeListener second) {
        Pair last = joined[index];
        if (last == null || last.first != first || last.second != second) {
            last = new Pair(first, second);
            joined[index] = last;
        }
        return last;
    }

    /**
     * Calls two listeners. The caller logs the exceptions of the second one. Immutable, so that
     * threads may share it without synchronization.
     */
    private final class Pair implements ExchangeListener {
        private final ExchangeListener first;
        private final ExchangeListener second;

        Pair(ExchangeListener first, ExchangeListener second) {
            this.first = first;
            this.second = second;
        }

        @Override
        public void onAttempt(int number, Http2Headers headers) {
            try {
                first.onAttempt(number, headers);
            } catch (Throwable e) {
                failures.warn("the observer threw an exception in onAttempt()", e);
            }
            second.onAttempt(number, headers);
        }

        @Override
        public void onAttemptFailed(int number, @Nullable String workerId, String failure) {
            try {
                first.onAttemptFailed(number, workerId, failure);
            } catch (Throwable e) {
                failures.warn("the observer threw an exception in onAttemptFailed()", e);
            }
            second.onAttemptFailed(number, workerId, failure);
        }

        @Override
        public void onEnd(ExchangeEnd end) {
            try {
                first.onEnd(end);
            } catch (Throwable e) {
                failures.warn("the observer threw an exception at the end of {} {}", end.method(), end.path(), e);
            }
            second.onEnd(end);
        }
    }

    private void tell(String what, Consumer<DispatcherObserver> call) {
        for (DispatcherObserver observer : all) {
            try {
                call.accept(observer);
            } catch (Throwable e) {
                onFailed(observer, what, e);
            }
        }
    }

    private void onFailed(DispatcherObserver observer, String what, Throwable cause) {
        failures.warn(
                "the observer {} threw an exception in {}()",
                observer.getClass().getName(),
                what,
                cause);
    }

    @Override
    public void onClientConnected() {
        tell("onClientConnected", DispatcherObserver::onClientConnected);
    }

    @Override
    public void onClientDisconnected() {
        tell("onClientDisconnected", DispatcherObserver::onClientDisconnected);
    }

    @Override
    public void onWorkerConnected(String function, String workerId, SocketAddress remote, int streams) {
        tell("onWorkerConnected", observer -> observer.onWorkerConnected(function, workerId, remote, streams));
    }

    @Override
    public void onWorkerDisconnected(String function, String workerId, boolean clean, String reason) {
        tell("onWorkerDisconnected", observer -> observer.onWorkerDisconnected(function, workerId, clean, reason));
    }

    @Override
    public void onWorkerRejected(SocketAddress remote, String reason) {
        tell("onWorkerRejected", observer -> observer.onWorkerRejected(remote, reason));
    }

    @Override
    public void onWorkerLoad(String function, String workerId, int cpuPermille, int memoryPermille, int loopLagMicros) {
        tell(
                "onWorkerLoad",
                observer -> observer.onWorkerLoad(function, workerId, cpuPermille, memoryPermille, loopLagMicros));
    }

    @Override
    public void onLaunch(String function, String workerId, String reason) {
        tell("onLaunch", observer -> observer.onLaunch(function, workerId, reason));
    }

    @Override
    public void onProtection(Protection protection) {
        tell("onProtection", observer -> observer.onProtection(protection));
    }

    @Override
    public void onBreaker(String function, String breaker, BreakerState state, String reason) {
        tell("onBreaker", observer -> observer.onBreaker(function, breaker, state, reason));
    }

    @Override
    public void onIncident(Incident incident) {
        tell("onIncident", observer -> observer.onIncident(incident));
    }

    @Override
    public void onLaunchEnd(String function, String workerId, boolean failed, String detail) {
        tell("onLaunchEnd", observer -> observer.onLaunchEnd(function, workerId, failed, detail));
    }

    @Override
    public void onFilterEvent(@Nullable String function, FilterEvent event) {
        tell("onFilterEvent", observer -> observer.onFilterEvent(function, event));
    }
}
