package io.lambdadispatcher.core.observe;

import java.net.SocketAddress;
import java.util.List;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** Tells several observers of everything, in their order. */
record ObserverList(List<DispatcherObserver> all) implements DispatcherObserver {
    ObserverList {
        all = List.copyOf(all);
    }

    /** For each request, so without an iterator. */
    @Override
    public @Nullable Consumer<ExchangeEnd> onExchangeStart(ExchangeStart start) {
        Consumer<ExchangeEnd> listeners = null;
        for (int i = 0; i < all.size(); i++) {
            Consumer<ExchangeEnd> next = all.get(i).onExchangeStart(start);
            if (next != null) {
                listeners = listeners == null ? next : listeners.andThen(next);
            }
        }
        return listeners;
    }

    @Override
    public void onClientConnected() {
        all.forEach(DispatcherObserver::onClientConnected);
    }

    @Override
    public void onClientDisconnected() {
        all.forEach(DispatcherObserver::onClientDisconnected);
    }

    @Override
    public void onWorkerConnected(String function, String workerId, SocketAddress remote, int streams) {
        all.forEach(observer -> observer.onWorkerConnected(function, workerId, remote, streams));
    }

    @Override
    public void onWorkerDisconnected(String function, String workerId, boolean clean, String reason) {
        all.forEach(observer -> observer.onWorkerDisconnected(function, workerId, clean, reason));
    }

    @Override
    public void onWorkerRejected(SocketAddress remote, String reason) {
        all.forEach(observer -> observer.onWorkerRejected(remote, reason));
    }

    @Override
    public void onWorkerLoad(String function, String workerId, int cpuPermille, int memoryPermille, int loopLagMicros) {
        all.forEach(observer -> observer.onWorkerLoad(function, workerId, cpuPermille, memoryPermille, loopLagMicros));
    }

    @Override
    public void onProtection(Protection protection) {
        all.forEach(observer -> observer.onProtection(protection));
    }

    @Override
    public void onLaunch(String function, String workerId) {
        all.forEach(observer -> observer.onLaunch(function, workerId));
    }

    @Override
    public void onLaunchEnd(String function, String workerId, boolean failed, String detail) {
        all.forEach(observer -> observer.onLaunchEnd(function, workerId, failed, detail));
    }
}
