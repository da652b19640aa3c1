package io.lambdadispatcher.server.config;

import java.net.InetSocketAddress;
import java.net.URI;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.OptionalInt;
import java.util.TreeMap;
import java.util.function.Function;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * How the text of a setting becomes its value. Immutable.
 *
 * @param expected what a right text looks like, for messages and docs
 * @param parser throws {@link IllegalArgumentException} for any other text; its message is not shown, {@code expected} is
 * @param separator what splits a text into items; {@code null} = a single value, and a YAML list is refused
 */
public record ValueType<T>(
        String expected,
        Function<List<String>, T> parser,
        @org.jspecify.annotations.Nullable Pattern separator) {

    private static final Pattern SPACES = Pattern.compile("\\s+");
    private static final Pattern COMMAS = Pattern.compile("[\\s,]+");
    private static final Pattern DURATION = Pattern.compile("(\\d{1,15})(ms|s|m|h|d)");
    private static final Pattern SIZE = Pattern.compile("(\\d{1,15})(B|KiB|MiB|GiB)?");
    private static final Pattern CLASS_NAME =
            Pattern.compile("(\\p{javaJavaIdentifierStart}\\p{javaJavaIdentifierPart}*\\.)*"
                    + "\\p{javaJavaIdentifierStart}\\p{javaJavaIdentifierPart}*"
                    + "(::\\p{javaJavaIdentifierStart}\\p{javaJavaIdentifierPart}*)?");
    private static final Pattern VARIABLE = Pattern.compile("([A-Za-z_][A-Za-z0-9_]*)=(.*)", Pattern.DOTALL);

    /** @throws IllegalArgumentException if it is not what {@link #expected} says */
    T parse(RawValue raw) {
        if (separator == null) {
            if (raw.isList()) {
                throw new IllegalArgumentException("a list");
            }
            return parser.apply(raw.items());
        }
        return parser.apply(raw.isList() ? raw.items() : split(separator, raw.text()));
    }

    private static List<String> split(Pattern separator, String text) {
        String trimmed = text.trim();
        return trimmed.isEmpty() ? List.of() : List.of(separator.split(trimmed));
    }

    private static <T> ValueType<T> single(String expected, Function<String, T> parser) {
        return new ValueType<>(expected, items -> parser.apply(items.get(0)), null);
    }

    static ValueType<String> text(String expected, int maxChars) {
        return single(expected, text -> {
            require(!text.isBlank() && text.length() <= maxChars);
            return text;
        });
    }

    static ValueType<Boolean> bool() {
        return single("true or false", text -> {
            require(text.equals("true") || text.equals("false"));
            return text.equals("true");
        });
    }

    static ValueType<Integer> number(int min, int max) {
        return single("a whole number, " + min + " to " + max, text -> within(Integer.parseInt(text), min, max));
    }

    static ValueType<Integer> numberOrAuto(int min, int max) {
        return single("auto, or a whole number, " + min + " to " + max, text -> {
            return text.equals("auto") ? 0 : within(Integer.parseInt(text), min, max);
        });
    }

    /** Empty = off. */
    static ValueType<OptionalInt> port() {
        return single("a port, 1 to 65535, 0 for any free one, or off", text -> {
            // YAML 1.1 reads a bare off as false, and so do many editors.
            if (text.equals("off") || text.equals("false")) {
                return OptionalInt.empty();
            }
            return OptionalInt.of(within(Integer.parseInt(text), 0, 65535));
        });
    }

    static ValueType<Duration> duration() {
        return single("a duration such as 500ms, 10s, 15m, 1h, or 0", text -> {
            if (text.equals("0")) {
                return Duration.ZERO;
            }
            Matcher matcher = DURATION.matcher(text);
            require(matcher.matches());
            return ofUnit(Long.parseLong(matcher.group(1)), matcher.group(2));
        });
    }

    private static Duration ofUnit(long count, String unit) {
        // Nanoseconds in a long reach 292 years; nobody waits for more than one.
        require(count <= 366L * 24 * 3600 * 1000);
        Duration duration = switch (unit) {
            case "ms" -> Duration.ofMillis(count);
            case "s" -> Duration.ofSeconds(count);
            case "m" -> Duration.ofMinutes(count);
            case "h" -> Duration.ofHours(count);
            default -> Duration.ofDays(count);
        };
        require(duration.compareTo(Duration.ofDays(366)) <= 0);
        return duration;
    }

    /** In octets. */
    static ValueType<Integer> size(int minBytes, int maxBytes) {
        String expected =
                "a size such as 512B, 64KiB, 1MiB, from " + formatSize(minBytes) + " to " + formatSize(maxBytes);
        return single(expected, text -> {
            Matcher matcher = SIZE.matcher(text);
            require(matcher.matches());
            String unit = matcher.group(2);
            int shift = unit == null ? 0 : "B  KiBMiBGiB".indexOf(unit) / 3 * 10;
            long bytes = Math.multiplyExact(Long.parseLong(matcher.group(1)), 1L << shift);
            return within(Math.toIntExact(bytes), minBytes, maxBytes);
        });
    }

    private static String formatSize(int bytes) {
        String[] units = {"B", "KiB", "MiB", "GiB"};
        int unit = 0;
        int count = bytes;
        while (unit < 3 && count % 1024 == 0 && count > 0) {
            count /= 1024;
            unit++;
        }
        return count + units[unit];
    }

    static <E extends Enum<E>> ValueType<E> choice(Class<E> type) {
        String names = Arrays.stream(type.getEnumConstants())
                .map(ValueType::choiceName)
                .collect(Collectors.joining(", "));
        return single(
                "one of " + names,
                text -> Arrays.stream(type.getEnumConstants())
                        .filter(value -> choiceName(value).equals(text))
                        .findAny()
                        .orElseThrow(IllegalArgumentException::new));
    }

    private static String choiceName(Enum<?> value) {
        return value instanceof Named named ? named.settingName() : dashed(value);
    }

    private static String dashed(Enum<?> value) {
        return value.name().toLowerCase(Locale.ROOT).replace('_', '-');
    }

    /** An enum whose constants are written otherwise than their dashed names. */
    public interface Named {
        String settingName();
    }

    static ValueType<Path> path() {
        return single("a path", text -> {
            require(!text.isBlank());
            return Path.of(text);
        });
    }

    static ValueType<String> pathPrefix() {
        return single("a path prefix that starts with / and has no query", text -> {
            require(text.startsWith("/") && text.chars().allMatch(c -> c > ' ' && c < 0x7f && c != '?' && c != '#'));
            return text;
        });
    }

    static ValueType<URI> uri() {
        return single("an address such as http://host:4566", text -> {
            URI uri = URI.create(text);
            require(("http".equals(uri.getScheme()) || "https".equals(uri.getScheme())) && uri.getHost() != null);
            return uri;
        });
    }

    static ValueType<String> host() {
        return single("a host such as www.example.org or *.example.org, without a port", Route::parseHost);
    }

    static ValueType<Route.Header> header() {
        return single(
                "a header such as x-canary or 'x-canary: yes', not host nor one of the connection",
                Route.Header::parse);
    }

    static ValueType<String> className() {
        return single("the full name of a class, with ::method where that is what handles", text -> {
            require(CLASS_NAME.matcher(text).matches());
            return text;
        });
    }

    /** Split at spaces; a YAML list keeps spaces within an item. */
    static ValueType<List<String>> words(String expected) {
        return new ValueType<>(expected, List::copyOf, SPACES);
    }

    /** Split at spaces; a YAML list keeps spaces within a value. The last of a name wins. */
    static ValueType<Map<String, String>> variables() {
        return new ValueType<>(
                "NAME=value, several separated by spaces",
                items -> {
                    Map<String, String> variables = new TreeMap<>();
                    for (String item : items) {
                        Matcher matcher = VARIABLE.matcher(item);
                        require(matcher.matches());
                        variables.put(matcher.group(1), matcher.group(2));
                    }
                    return Map.copyOf(variables);
                },
                SPACES);
    }

    /** Unresolved, for they may be meant for another network. */
    static ValueType<List<InetSocketAddress>> addresses() {
        return new ValueType<>(
                "addresses such as 10.0.0.7:8444 or dispatcher.internal:8444",
                items -> {
                    List<InetSocketAddress> addresses = new ArrayList<>();
                    items.forEach(item -> addresses.add(address(item)));
                    return List.copyOf(addresses);
                },
                COMMAS);
    }

    private static InetSocketAddress address(String text) {
        int colon = text.lastIndexOf(':');
        require(colon > 0);
        String host = text.substring(0, colon);
        boolean bracketed = host.startsWith("[") && host.endsWith("]");
        require(bracketed || host.indexOf(':') < 0);
        int port = within(Integer.parseInt(text.substring(colon + 1)), 0, 65535);
        return InetSocketAddress.createUnresolved(bracketed ? host.substring(1, host.length() - 1) : host, port);
    }

    private static int within(int value, int min, int max) {
        require(value >= min && value <= max);
        return value;
    }

    private static void require(boolean holds) {
        if (!holds) {
            throw new IllegalArgumentException();
        }
    }
}
