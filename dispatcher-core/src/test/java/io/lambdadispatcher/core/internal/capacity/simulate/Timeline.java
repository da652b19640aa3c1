package io.lambdadispatcher.core.internal.capacity.simulate;

import java.util.ArrayList;
import java.util.List;

/** What the controller saw and wanted, at each evaluation. */
final class Timeline {
    /**
     * @param seconds time since the traffic began, negative before that
     * @param arrived requests so far
     */
    record Look(
            double seconds, int wanted, int launched, int ready, int draining, int busy, int pending, long arrived) {
        int alive() {
            return launched + ready + draining;
        }
    }

    final List<Look> looks = new ArrayList<>();

    void add(Look look) {
        looks.add(look);
    }

    /** Returns the evaluations since the traffic began. */
    List<Look> counted() {
        return looks.stream().filter(look -> look.seconds >= 0).toList();
    }

    /** Returns the mean over time. Each evaluation counts until the next one. */
    double meanAlive() {
        double workerSeconds = 0;
        List<Look> counted = counted();
        for (int i = 1; i < counted.size(); i++) {
            Look before = counted.get(i - 1);
            workerSeconds += before.alive() * (counted.get(i).seconds - before.seconds);
        }
        double seconds = counted.isEmpty() ? 0 : counted.get(counted.size() - 1).seconds - counted.get(0).seconds;
        return seconds == 0 ? 0 : workerSeconds / seconds;
    }

    int fewestReady() {
        return counted().stream().mapToInt(Look::ready).min().orElse(0);
    }

    int mostReady() {
        return counted().stream().mapToInt(Look::ready).max().orElse(0);
    }

    int mostAlive() {
        return counted().stream().mapToInt(Look::alive).max().orElse(0);
    }

    int mostWanted() {
        return counted().stream().mapToInt(Look::wanted).max().orElse(0);
    }
}
