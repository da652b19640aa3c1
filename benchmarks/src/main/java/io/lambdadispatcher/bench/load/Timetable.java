package io.lambdadispatcher.bench.load;

import java.util.ArrayList;
import java.util.List;

/** When each request should start, and of which kind it is: arithmetic only. */
final class Timetable {
    private final double intervalNanos;
    private final List<Integer> round;

    /** @param rate requests per second; zero = all of them at the start */
    Timetable(double rate, List<Integer> weights) {
        this.intervalNanos = rate == 0 ? 0 : 1e9 / rate;
        this.round = spread(weights);
    }

    /** Nanoseconds after the start. */
    long due(long request) {
        return (long) (request * intervalNanos);
    }

    /** Index of the kind. */
    int kind(long request) {
        return round.get((int) (request % round.size()));
    }

    /**
     * Each kind as often as it weighs, and as evenly as can be: the one that is furthest behind its
     * share comes next.
     */
    private static List<Integer> spread(List<Integer> weights) {
        int total = weights.stream().mapToInt(Integer::intValue).sum();
        int[] credit = new int[weights.size()];
        List<Integer> round = new ArrayList<>(total);
        for (int i = 0; i < total; i++) {
            int next = 0;
            for (int kind = 0; kind < credit.length; kind++) {
                credit[kind] += weights.get(kind);
                next = credit[kind] > credit[next] ? kind : next;
            }
            credit[next] -= total;
            round.add(next);
        }
        return round;
    }
}
