package io.lambdadispatcher.bench.load;

import java.util.ArrayList;
import java.util.List;

/** Calculates when each request should start, and of which kind it is. */
final class Timetable {
    private final double intervalNanos;
    private final List<Integer> round;

    /** @param rate requests per second; zero = all of them at the start */
    Timetable(double rate, List<Integer> weights) {
        this.intervalNanos = rate == 0 ? 0 : 1e9 / rate;
        this.round = spread(weights);
    }

    /** Returns the request's time in nanoseconds after the start. */
    long due(long request) {
        return (long) (request * intervalNanos);
    }

    /** Returns the index of the request's kind. */
    int kind(long request) {
        return round.get((int) (request % round.size()));
    }

    /**
     * Returns the order of kinds in a round. Each kind occurs as often as its weight, as evenly as
     * possible: the kind that is furthest behind its share comes next.
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
