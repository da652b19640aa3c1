package io.lambdadispatcher.server.config;

import static io.lambdadispatcher.server.config.ValueType.COMMAS;
import static io.lambdadispatcher.server.config.ValueType.SPACES;
import static io.lambdadispatcher.server.config.ValueType.require;
import static io.lambdadispatcher.server.config.ValueType.single;

import io.lambdadispatcher.core.options.Affinity;
import io.lambdadispatcher.core.options.CompressionPolicy;
import io.lambdadispatcher.core.options.ContentEncoding;
import io.lambdadispatcher.wire.http.HeaderSyntax;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;

/**
 * Types of values that name parts of HTTP messages: headers, hosts, paths, media types and
 * encodings.
 */
final class HttpValueTypes {
    /** No policy and no route sees them. */
    private static final String EXCEPT_UNSEEN = ", except host, expect and hop-by-hop headers";

    private static final int DEFAULT_MIN_BYTES = CompressionPolicy.OFF.minBytes();

    private HttpValueTypes() {}

    /** @param minBytes smaller responses are not compressed */
    record Compression(List<ContentEncoding> encodings, int minBytes) {}

    /** Encodings in the order of preference, and the size of the smallest response. */
    static ValueType<Compression> compression() {
        Map<String, ContentEncoding> tokens = new LinkedHashMap<>();
        for (ContentEncoding encoding : ContentEncoding.values()) {
            tokens.put(encoding.token().toString(), encoding);
        }
        String expected = "one or more of " + String.join(", ", tokens.keySet())
                + ", each at most once, and optionally min-size and a size from 0B to 1MiB";
        ValueType<Compression> compression = new ValueType<>(
                "ENCODING... [min-size SIZE]",
                expected,
                items -> {
                    int keyword = items.indexOf("min-size");
                    List<String> encodings = keyword < 0 ? items : items.subList(0, keyword);
                    require(keyword < 0 || items.size() == keyword + 2);
                    require(!encodings.isEmpty() && tokens.keySet().containsAll(encodings));
                    require(new TreeSet<>(encodings).size() == encodings.size());
                    return new Compression(
                            encodings.stream().map(tokens::get).toList(),
                            keyword < 0 ? DEFAULT_MIN_BYTES : ValueType.parseSize(items.get(keyword + 1), 0, 1 << 20));
                },
                COMMAS);
        return compression.orOff(new Compression(List.of(), DEFAULT_MIN_BYTES));
    }

    /** Media types, or patterns for them. */
    static ValueType<List<String>> mediaTypes() {
        return new ValueType<>(
                "TYPE...",
                "types such as application/json, text/* or *+json",
                items -> {
                    require(!items.isEmpty());
                    return CompressionPolicy.builder().types(items).build().types();
                },
                COMMAS);
    }

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
