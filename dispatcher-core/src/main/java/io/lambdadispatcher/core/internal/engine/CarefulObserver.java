package io.lambdadispatcher.core.internal.engine;

import io.lambdadispatcher.core.internal.loop.SeldomLog;
import io.lambdadispatcher.core.observe.DispatcherObserver;
import io.lambdadispatcher.core.observe.ExchangeEnd;
import io.lambdadispatcher.core.observe.ExchangeStart;
import io.lambdadispatcher.core.observe.Protection;
import io.netty.util.concurrent.Ticker;
import java.net.SocketAddress;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Keeps what the program's observer throws from the exchange, and from the worker stream, that it was told about. Any thread. */
public final class CarefulObserver implements DispatcherObserver {
    private static final Logger log = LoggerFactory.getLogger(CarefulObserver.class);

    private final DispatcherObserver observer;
    private final SeldomLog failures = new SeldomLog(log, Ticker.systemTicker());

    public CarefulObserver(DispatcherObserver observer) {
        this.observer = observer;
    }

    private void tell(String what, Runnable call) {
        try {
            call.run();
        } catch (Throwable e) {
            onFailed(what, e);
        }
    }

    private void onFailed(String what, Throwable cause) {
        failures.warn("the observer {} failed in {}()", observer.getClass().getName(), what, cause);
    }

    /** Without the object that {@link #tell} takes, because this is called for each request. */
    @Override
    public @Nullable Consumer<ExchangeEnd> onExchangeStart(ExchangeStart start) {
        try {
            return observer.onExchangeStart(start);
        } catch (Throwable e) {
            onFailed("onExchangeStart", e);
            return null;
        }
    }

    @Override
    public void onClientConnected() {
        tell("onClientConnected", observer::onClientConnected);
    }

    @Override
    public void onClientDisconnected() {
        tell("onClientDisconnected", observer::onClientDisconnected);
    }

    @Override
    public void onWorkerConnected(String function, String workerId, SocketAddress remote, int streams) {
        tell("onWorkerConnected", () -> observer.onWorkerConnected(function, workerId, remote, streams));
    }

    @Override
    public void onWorkerDisconnected(String function, String workerId, boolean clean, String reason) {
        tell("onWorkerDisconnected", () -> observer.onWorkerDisconnected(function, workerId, clean, reason));
    }

    @Override
    public void onWorkerRejected(SocketAddress remote, String reason) {
        tell("onWorkerRejected", () -> observer.onWorkerRejected(remote, reason));
    }

    @Override
    public void onWorkerLoad(String function, String workerId, int cpuPermille, int memoryPermille, int loopLagMicros) {
        tell(
                "onWorkerLoad",
                () -> observer.onWorkerLoad(function, workerId, cpuPermille, memoryPermille, loopLagMicros));
    }

    @Override
    public void onLaunch(String function, String workerId) {
        tell("onLaunch", () -> observer.onLaunch(function, workerId));
    }

    @Override
    public void onProtection(Protection protection) {
        tell("onProtection", () -> observer.onProtection(protection));
    }

    @Override
    public void onLaunchEnd(String function, String workerId, boolean failed, String detail) {
        tell("onLaunchEnd", () -> observer.onLaunchEnd(function, workerId, failed, detail));
    }
}
