package io.lambdadispatcher.server.config;

import java.util.Collection;
import java.util.Comparator;
import java.util.Optional;

/** Finds the known name that is nearest to a mistyped one. */
final class Nearest {
    private Nearest() {}

    /** Returns {@code , did you mean "x"?}, or an empty text. */
    static String suggestion(String name, Collection<String> known) {
        return find(name, known)
                .map(nearest -> ", did you mean \"" + nearest + "\"?")
                .orElse("");
    }

    /** Accepts two changes, or as many as a third of the letters of a longer name. */
    static Optional<String> find(String name, Collection<String> known) {
        return known.stream()
                .min(Comparator.comparingInt(candidate -> distance(name, candidate)))
                .filter(nearest -> distance(name, nearest) <= Math.max(2, name.length() / 3))
                .or(() -> withSameEnds(name, known));
    }

    /**
     * Finds {@code public.plain.port} for {@code pubic.port}, in which a middle part is missing.
     */
    private static Optional<String> withSameEnds(String name, Collection<String> known) {
        return known.stream()
                .filter(candidate -> isNear(name.split("\\.", 2)[0], candidate.split("\\.", 2)[0]))
                .filter(candidate -> isNear(last(name), last(candidate)))
                .min(Comparator.naturalOrder());
    }

    private static boolean isNear(String a, String b) {
        return distance(a, b) <= Math.max(1, a.length() / 4);
    }

    private static String last(String name) {
        return name.substring(name.lastIndexOf('.') + 1);
    }

    /** Counts letters inserted, dropped, changed, or swapped with their neighbour (Damerau). */
    static int distance(String a, String b) {
        int[][] d = new int[a.length() + 1][b.length() + 1];
        for (int i = 0; i <= a.length(); i++) {
            for (int j = 0; j <= b.length(); j++) {
                if (i == 0 || j == 0) {
                    d[i][j] = i + j;
                    continue;
                }
                int change = d[i - 1][j - 1] + (a.charAt(i - 1) == b.charAt(j - 1) ? 0 : 1);
                d[i][j] = Math.min(change, 1 + Math.min(d[i - 1][j], d[i][j - 1]));
                if (i > 1 && j > 1 && a.charAt(i - 1) == b.charAt(j - 2) && a.charAt(i - 2) == b.charAt(j - 1)) {
                    d[i][j] = Math.min(d[i][j], d[i - 2][j - 2] + 1);
                }
            }
        }
        return d[a.length()][b.length()];
    }
}
