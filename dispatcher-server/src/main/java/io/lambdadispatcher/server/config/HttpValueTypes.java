package io.lambdadispatcher.server.config;

import static io.lambdadispatcher.server.config.ValueType.COMMAS;
import static io.lambdadispatcher.server.config.ValueType.SPACES;
import static io.lambdadispatcher.server.config.ValueType.require;
import static io.lambdadispatcher.server.config.ValueType.single;

import io.lambdadispatcher.core.options.Affinity;
import io.lambdadispatcher.wire.http.HeaderSyntax;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.TreeSet;

/**
 * Types of values that name parts of HTTP messages: headers, hosts and paths.
 */
final class HttpValueTypes {
    /** No policy and no route sees them. */
    private static final String EXCEPT_UNSEEN = ", except host, expect and hop-by-hop headers";

    private HttpValueTypes() {}

    static ValueType<String> pathPrefix() {
        return single("PATH", "a path that starts with / and has no query", text -> {
            require(text.startsWith("/") && text.chars().allMatch(c -> c > ' ' && c < 0x7f && c != '?' && c != '#'));
            return text;
        });
    }

    /** A path, and optionally the beginning of a user agent. */
    static ValueType<String> healthCheck() {
        return single(
                "PATH [AGENT]",
                "a path without a query, or a path, a blank and the beginning of a user agent, such as / ELB-HealthChecker",
                text -> {
                    require(text.matches("/[!-~&&[^?#]]*( [!-~][ -~]*)?"));
                    return text;
                });
    }

    static ValueType<String> host() {
        return single("HOST", "a host such as www.example.org or *.example.org, without a port", Route::parseHost);
    }

    /** Host names in lower case. */
    static ValueType<Set<String>> hostNames() {
        return new ValueType<>(
                "HOST...",
                "host names such as admin.example.org, without ports",
                items -> {
                    Set<String> hosts = new TreeSet<>();
                    for (String item : items) {
                        String host = Route.parseHost(item);
                        require(!host.startsWith("*"));
                        hosts.add(host);
                    }
                    return Set.copyOf(hosts);
                },
                COMMAS);
    }

    static ValueType<Route.Header> header() {
        return single("HEADER", "a header such as x-beta or 'x-beta: yes'" + EXCEPT_UNSEEN, Route.Header::parse);
    }

    static ValueType<String> headerName() {
        return single("NAME", "the name of a header such as x-client-id", text -> {
            require(HeaderSyntax.isToken(text));
            return text.toLowerCase(Locale.ROOT);
        });
    }

    /** A header that clients send, in lower case. */
    static ValueType<String> requestHeaderName() {
        return single(
                "NAME", "the name of a header such as x-client-id" + EXCEPT_UNSEEN, HttpValueTypes::requestHeader);
    }

    static String requestHeader(String text) {
        String name = text.toLowerCase(Locale.ROOT);
        require(HeaderSyntax.isToken(text) && !Route.Header.isNeverSeen(name));
        return name;
    }

    static ValueType<Affinity> affinity() {
        String expected =
                "header, cookie, own-cookie or session-header and a name, such as" + " 'session-header mcp-session-id'";
        ValueType<Affinity> affinity = single("AFFINITY", expected, text -> {
            String[] words = SPACES.split(text);
            require(words.length == 2);
            return switch (words[0]) {
                case "header" -> Affinity.header(requestHeader(words[1]));
                case "cookie" -> Affinity.cookie(words[1]);
                case "own-cookie" -> Affinity.ownCookie(words[1]);
                case "session-header" -> Affinity.sessionHeader(words[1]);
                default -> throw new IllegalArgumentException(text);
            };
        });
        return affinity.orOff(Affinity.NONE);
    }

    /** Header names in lower case. */
    static ValueType<List<String>> headerNames() {
        return new ValueType<>(
                "NAME...",
                "names of headers such as x-timeout-ms" + EXCEPT_UNSEEN,
                items -> items.stream().map(HttpValueTypes::requestHeader).toList(),
                COMMAS);
    }
}
