package io.lambdadispatcher.server;

import io.lambdadispatcher.core.spi.RequestRouter;
import io.lambdadispatcher.server.config.FunctionConfiguration;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.util.AsciiString;
import java.util.Comparator;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Chooses the function with the longest path that a request's path lies below. Immutable; runs for every request, allocates nothing. */
final class PathRouter implements RequestRouter {
    private final String[] prefixes;
    private final String[] names;

    PathRouter(List<FunctionConfiguration> functions) {
        List<FunctionConfiguration> longestFirst = functions.stream()
                .sorted(Comparator.comparingInt(
                        (FunctionConfiguration f) -> -f.path().length()))
                .toList();
        prefixes = longestFirst.stream().map(f -> withoutLastSlash(f.path())).toArray(String[]::new);
        names = longestFirst.stream().map(f -> f.options().name()).toArray(String[]::new);
    }

    private static String withoutLastSlash(String path) {
        return path.endsWith("/") ? path.substring(0, path.length() - 1) : path;
    }

    @Override
    public @Nullable String route(Http2Headers head) {
        CharSequence path = head.path();
        for (int i = 0; path != null && i < prefixes.length; i++) {
            if (isBelow(path, prefixes[i])) {
                return names[i];
            }
        }
        return null;
    }

    /** {@code /a} is above {@code /a}, {@code /a/b} and {@code /a?b}, not above {@code /ab}. */
    private static boolean isBelow(CharSequence path, String prefix) {
        int length = prefix.length();
        if (!AsciiString.regionMatches(path, false, 0, prefix, 0, length)) {
            return false;
        }
        return length == 0 || path.length() == length || path.charAt(length) == '/' || path.charAt(length) == '?';
    }
}
