package io.lambdadispatcher.server;

import io.lambdadispatcher.core.options.TrafficPolicy;
import io.lambdadispatcher.core.spi.RequestRouter;
import io.lambdadispatcher.core.spi.RouteTarget;
import io.lambdadispatcher.server.config.FunctionConfiguration;
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
    private final Set<String> requestHeaders = new HashSet<>();

    RouteTable(List<FunctionConfiguration> functions) {
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
        for (Entry entry : entries) {
            if (entry.matches(head, path)) {
                return entry.choose();
            }
        }
        return null;
    }

    /** One route and the functions that serve it. */
    private static final class Entry {
        private final String host;
        private final boolean anyHost;
        private final boolean below;
        private final @Nullable AsciiString headerName;
        private final @Nullable AsciiString headerValue;
        private final String path;
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
            return isBelow(target, path) && (anyHost || matchesHost(head.authority())) && matchesHeader(head);
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
