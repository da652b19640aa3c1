package io.lambdadispatcher.server;

import io.lambdadispatcher.core.options.TrafficPolicy;
import io.lambdadispatcher.core.spi.AmbiguousPathException;
import io.lambdadispatcher.core.spi.RequestRouter;
import io.lambdadispatcher.core.spi.RouteTarget;
import io.lambdadispatcher.server.config.FunctionConfiguration;
import io.lambdadispatcher.server.config.PathRule;
import io.lambdadispatcher.server.config.Route;
import io.lambdadispatcher.wire.http.Authority;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.util.AsciiString;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashSet;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ThreadLocalRandom;
import org.jspecify.annotations.Nullable;

/**
 * Chooses the function with the most specific route that matches a request.
 *
 * <ol>
 *   <li>An exact host is more specific than a host with a star, and any host more than none. Of two
 *       hosts with a star, the longer one is more specific.
 *   <li>If the hosts are equal, a header with a value is more specific than a header name, and
 *       both more than no header.
 *   <li>If these are equal, too, the longest path is the most specific.
 * </ol>
 *
 * <p>Functions with the same route share its requests by weight. The result always has a configured
 * name, never a part of the request. Immutable. Runs for every request, so it creates no objects;
 * only {@link Http2Headers} may create an iterator.
 */
final class RouteTable implements RequestRouter {
    private static final Comparator<Route> MOST_SPECIFIC_FIRST = Comparator.comparingInt(RouteTable::hostRank)
            .thenComparingInt(RouteTable::headerRank)
            .thenComparingInt(route -> route.path().length())
            .reversed();

    private final Entry[] entries;
    private final PathRule paths;
    private final Set<String> requestHeaders = new HashSet<>();

    /** Creates a table that rejects ambiguous paths if one of the routes has a path. */
    RouteTable(List<FunctionConfiguration> functions) {
        this(functions, null);
    }

    /** @param given what the settings say about paths; {@code null} = nothing */
    RouteTable(List<FunctionConfiguration> functions, @Nullable PathRule given) {
        Map<Route, List<Share>> sharing = new LinkedHashMap<>();
        for (FunctionConfiguration function : functions) {
            String name = function.options().name();
            add(sharing, function.route(), RouteTarget.of(name));
            function.routes().forEach(each -> add(sharing, each.route(), new RouteTarget(name, each.policy())));
        }
        sharing.forEach((route, shares) -> {
            if (route.header() != null) {
                requestHeaders.add(route.header().name());
            }
            shares.forEach(share -> addHeaders(share.target().policy()));
        });
        entries = sharing.entrySet().stream()
                .sorted(Map.Entry.comparingByKey(MOST_SPECIFIC_FIRST))
                .map(shared -> new Entry(shared.getKey(), shared.getValue()))
                .toArray(Entry[]::new);
        boolean byPath =
                sharing.keySet().stream().anyMatch(route -> !route.path().isEmpty());
        PathRule safe = byPath ? PathRule.REJECT_AMBIGUOUS : PathRule.AS_IS;
        paths = given == null || given == PathRule.REJECT_AMBIGUOUS ? safe : given;
    }

    private void addHeaders(@Nullable TrafficPolicy policy) {
        if (policy != null) {
            requestHeaders.addAll(policy.requestHeaders());
        }
    }

    private static void add(Map<Route, List<Share>> sharing, Route route, RouteTarget target) {
        sharing.computeIfAbsent(route.withoutWeight(), key -> new ArrayList<>()).add(new Share(target, route.weight()));
    }

    /** A target, and its share of the requests of its route. */
    private record Share(RouteTarget target, int weight) {}

    private static int hostRank(Route route) {
        String host = route.host();
        if (host == null) {
            return 0;
        }
        return host.startsWith("*.") ? host.length() : Integer.MAX_VALUE;
    }

    private static int headerRank(Route route) {
        Route.Header header = route.header();
        if (header == null) {
            return 0;
        }
        return header.value() == null ? 1 : 2;
    }

    @Override
    public Set<String> requestHeaders() {
        return requestHeaders;
    }

    @Override
    public @Nullable RouteTarget route(Http2Headers head) {
        CharSequence path = head.path();
        if (path == null) {
            return null;
        }
        Entry entry = paths == PathRule.AS_IS || PathSpellings.isPlain(path) ? find(head, path) : findAny(head, path);
        return entry == null ? null : entry.choose();
    }

    private @Nullable Entry find(Http2Headers head, CharSequence path) {
        for (Entry entry : entries) {
            if (entry.matches(head, path)) {
                return entry;
            }
        }
        return null;
    }

    /**
     * Finds the route of a path with several spellings. Normalizes the path if it is to be.
     *
     * @throws AmbiguousPathException if an application could take it for a path of another route
     */
    private @Nullable Entry findAny(Http2Headers head, CharSequence target) {
        int query = AsciiString.indexOf(target, '?', 0);
        String path = (query < 0 ? target : target.subSequence(0, query)).toString();
        if (paths == PathRule.NORMALIZE) {
            path = PathSpellings.normalized(path);
            head.path(AsciiString.of(query < 0 ? path : path + target.subSequence(query, target.length())));
        }
        Entry found = find(head, path);
        Set<String> readings = PathSpellings.readings(path);
        if (readings == null || readings.stream().anyMatch(reading -> find(head, reading) != found)) {
            throw AmbiguousPathException.INSTANCE;
        }
        return found;
    }

    /** One route and the functions that serve it. */
    private static final class Entry {
        private final String host;
        private final boolean anyHost;
        private final boolean below;
        private final @Nullable AsciiString headerName;
        private final @Nullable AsciiString headerValue;
        private final String path;

        /** The path without percent signs; {@code null} if it has none. */
        private final @Nullable String decodedPath;

        private final RouteTarget[] targets;

        /** Ascending. The share of {@code targets[i]} ends before {@code bounds[i]}. */
        private final int[] bounds;

        Entry(Route route, List<Share> shares) {
            String given = route.host();
            anyHost = given == null;
            below = given != null && given.startsWith("*.");
            host = given == null ? "" : below ? given.substring(1) : given;
            Route.Header header = route.header();
            headerName = header == null ? null : AsciiString.cached(header.name());
            headerValue = header == null || header.value() == null ? null : AsciiString.cached(header.value());
            path = route.path();
            decodedPath = path.indexOf('%') < 0 ? null : PathSpellings.decode(path, false);
            targets = new RouteTarget[shares.size()];
            bounds = new int[targets.length];
            int sum = 0;
            for (int i = 0; i < targets.length; i++) {
                targets[i] = shares.get(i).target();
                sum += shares.get(i).weight();
                bounds[i] = sum;
            }
        }

        boolean matches(Http2Headers head, CharSequence target) {
            boolean below = isBelow(target, path) || decodedPath != null && isBelow(target, decodedPath);
            return below && (anyHost || matchesHost(head.authority())) && matchesHeader(head);
        }

        /**
         * {@code /a/b} and {@code /a?b} are below {@code /a}, as is {@code /a} itself, not {@code
         * /ab}.
         */
        private static boolean isBelow(CharSequence target, String prefix) {
            int length = prefix.length();
            if (!AsciiString.regionMatches(target, false, 0, prefix, 0, length)) {
                return false;
            }
            return length == 0
                    || target.length() == length
                    || target.charAt(length) == '/'
                    || target.charAt(length) == '?';
        }

        private boolean matchesHost(@Nullable CharSequence authority) {
            if (authority == null) {
                return false;
            }
            int end = Authority.hostEnd(authority);
            int start = end - host.length();
            return (below ? start > 0 : start == 0)
                    && AsciiString.regionMatches(authority, true, start, host, 0, host.length());
        }

        private boolean matchesHeader(Http2Headers head) {
            if (headerName == null) {
                return true;
            }
            if (headerValue == null) {
                return head.contains(headerName);
            }
            for (Iterator<CharSequence> values = head.valueIterator(headerName); values.hasNext(); ) {
                if (headerValue.contentEquals(values.next())) {
                    return true;
                }
            }
            return false;
        }

        RouteTarget choose() {
            if (targets.length == 1) {
                return targets[0];
            }
            int drawn = ThreadLocalRandom.current().nextInt(bounds[bounds.length - 1]);
            int i = 0;
            while (drawn >= bounds[i]) {
                i++;
            }
            return targets[i];
        }
    }
}
