package io.lambdadispatcher.server.config;

import java.util.Collection;
import org.jspecify.annotations.Nullable;

/** Finds what a mistyped name was meant to be. */
final class Nearest {
    private Nearest() {}

    /** {@code , did you mean 'x'?} or nothing. */
    static String suggestion(String name, Collection<String> known) {
        String nearest = find(name, known);
        return nearest == null ? "" : ", did you mean '" + nearest + "'?";
    }

    /** @return {@code null} if none is near: more than a third of the letters would have to change */
    static @Nullable String find(String name, Collection<String> known) {
        String best = null;
        int bestDistance = Math.max(2, name.length() / 3) + 1;
        for (String candidate : known) {
            int distance = distance(name, candidate);
            if (distance < bestDistance) {
                bestDistance = distance;
                best = candidate;
            }
        }
        return best != null ? best : withSameEnds(name, known);
    }

    /** {@code pubic.port} for {@code public.plain.port}: a part in the middle was left out. */
    private static @Nullable String withSameEnds(String name, Collection<String> known) {
        return known.stream()
                .filter(candidate -> isNear(first(name), first(candidate)) && isNear(last(name), last(candidate)))
                .sorted()
                .findFirst()
                .orElse(null);
    }

    private static boolean isNear(String a, String b) {
        return distance(a, b) <= Math.max(1, a.length() / 4);
    }

    private static String first(String name) {
        int dot = name.indexOf('.');
        return dot < 0 ? name : name.substring(0, dot);
    }

    private static String last(String name) {
        return name.substring(name.lastIndexOf('.') + 1);
    }

    /** Letters inserted, dropped, changed, or swapped with their neighbour (Damerau). */
    static int distance(String a, String b) {
        int[][] d = new int[a.length() + 1][b.length() + 1];
        for (int i = 0; i <= a.length(); i++) {
            d[i][0] = i;
        }
        for (int j = 0; j <= b.length(); j++) {
            d[0][j] = j;
        }
        for (int i = 1; i <= a.length(); i++) {
            for (int j = 1; j <= b.length(); j++) {
                int change = d[i - 1][j - 1] + (a.charAt(i - 1) == b.charAt(j - 1) ? 0 : 1);
                d[i][j] = Math.min(change, 1 + Math.min(d[i - 1][j], d[i][j - 1]));
                if (i > 1 && j > 1 && isSwapped(a, i, b, j)) {
                    d[i][j] = Math.min(d[i][j], d[i - 2][j - 2] + 1);
                }
            }
        }
        return d[a.length()][b.length()];
    }

    private static boolean isSwapped(String a, int i, String b, int j) {
        return a.charAt(i - 1) == b.charAt(j - 2) && a.charAt(i - 2) == b.charAt(j - 1);
    }
}
