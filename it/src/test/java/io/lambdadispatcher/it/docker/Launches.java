package io.lambdadispatcher.it.docker;

import io.lambdadispatcher.core.observe.DispatcherObserver;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;

/** Records when launches were requested and how they ended. */
final class Launches implements DispatcherObserver {
    final List<Long> started = new CopyOnWriteArrayList<>();
    final List<String> ended = new CopyOnWriteArrayList<>();

    @Override
    public void onLaunch(String function, String workerId) {
        started.add(System.nanoTime());
    }

    @Override
    public void onLaunchEnd(String function, String workerId, boolean failed, String detail) {
        ended.add(detail);
    }

    long millisSinceFirst() {
        return (System.nanoTime() - started.get(0)) / 1_000_000;
    }

    /** Returns the time from the first launch to the last. */
    Duration spread() {
        return Duration.ofNanos(started.get(started.size() - 1) - started.get(0));
    }
}
