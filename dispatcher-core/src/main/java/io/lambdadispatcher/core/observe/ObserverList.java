package io.lambdadispatcher.core.observe;

import java.net.SocketAddress;
import java.util.List;

/** Tells several observers of everything, in their order. */
record ObserverList(List<DispatcherObserver> all) implements DispatcherObserver {
    ObserverList {
        all = List.copyOf(all);
    }

    @Override
    public void onExchangeEnd(ExchangeEnd end) {
        for (DispatcherObserver observer : all) {
            observer.onExchangeEnd(end);
        }
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

    @Override
    public boolean wantsExchanges() {
        return all.stream().anyMatch(DispatcherObserver::wantsExchanges);
    }
}
