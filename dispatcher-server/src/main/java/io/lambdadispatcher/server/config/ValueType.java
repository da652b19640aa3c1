package io.lambdadispatcher.server.config;

import io.lambdadispatcher.core.options.RetryCondition;
import io.lambdadispatcher.core.spi.SettingText;
import io.lambdadispatcher.wire.worker.LaunchToken;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Function;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Parses the text of a setting. Immutable.
 *
 * @param label stands for the value in {@code --help-all}: the possible values, or a name
 * @param expected what a valid text looks like, for messages and docs
 * @param parser throws {@link IllegalArgumentException} for any other text; the reported problem
 *     shows {@code expected} instead of the exception's message
 * @param separator splits a text into items; {@code null} = a single value, no YAML list
 */
public record ValueType<T>(
        String label,
        String expected,
        Function<List<String>, T> parser,
        @Nullable Pattern separator) {

    static final Pattern SPACES = Pattern.compile("\\s+");
    static final Pattern COMMAS = Pattern.compile("[\\s,]+");
    private static final Pattern PERCENT = Pattern.compile("(\\d{1,4})%");
    private static final Pattern RATIO = Pattern.compile("0|1|[01]\\.0{1,9}|0?\\.\\d{1,9}");
    private static final Pattern CLASS_NAME =
            Pattern.compile("(\\p{javaJavaIdentifierStart}\\p{javaJavaIdentifierPart}*\\.)*"
                    + "\\p{javaJavaIdentifierStart}\\p{javaJavaIdentifierPart}*"
                    + "(::\\p{javaJavaIdentifierStart}\\p{javaJavaIdentifierPart}*)?");
    private static final Pattern TEXT = Pattern.compile("[ -~\\r\\n]*");
    private static final Pattern VARIABLE = Pattern.compile("([A-Za-z_][A-Za-z0-9_]*)=(.*)", Pattern.DOTALL);
    private static final String SECRET = "SECRET|file:FILE";

    /** Begins a value that names the file of a secret. */
    public static final String SECRET_FILE = "file:";

    private static final String VARIABLES = "NAME=VALUE...";
    private static final String READABLE_FILE = "a readable file";
    private static final String DIRECTORY = "a directory";
    private static final String URL = "URL";

    private static final String LISTEN =
            "a port from 1 to 65535, or 0 for any free port, optionally after an address, such"
                    + " as 8080 or 127.0.0.1:8080";

    /** Stands for standard output instead of a file. */
    public static final Path STDOUT = Path.of("stdout");

    /** Stands for {@code off} instead of a file. */
    static final Path OFF = Path.of("off");

    /** @throws IllegalArgumentException if the text is not what {@link #expected} says */
    T parse(RawValue raw) {
        if (separator == null) {
            require(!raw.isList());
            return parser.apply(raw.items());
        }
        return parser.apply(raw.isList() ? raw.items() : split(separator, raw.text()));
    }

    private static List<String> split(Pattern separator, String text) {
        String trimmed = text.trim();
        return trimmed.isEmpty() ? List.of() : List.of(separator.split(trimmed));
    }

    /**
     * Returns the text of a value without its secrets. The value of an environment variable can be
     * a password, so only the names of variables are shown.
     *
     * @param value the text, parsed
     */
    String show(String text, @Nullable Object value) {
        if (isSecret(text)) {
            return "(secret)";
        }
        return value instanceof Map<?, ?> variables
                ? variables.keySet().stream()
                        .map(name -> name + "=(secret)")
                        .sorted()
                        .collect(Collectors.joining(" "))
                : text;
    }

    /**
     * Returns the path of the file whose contents count; {@code null} if the text names none.
     */
    @Nullable
    String fileIn(String text) {
        if (label.equals(SECRET)) {
            return text.startsWith(SECRET_FILE) ? text.substring(SECRET_FILE.length()) : null;
        }
        return expected.startsWith(READABLE_FILE) || expected.equals(DIRECTORY) ? text : null;
    }

    private boolean isSecret(String text) {
        return label.equals(SECRET) && fileIn(text) == null;
    }

    /** Returns the value in quotation marks, or only its size if it may contain a secret. */
    String quote(String text) {
        boolean secret = isSecret(text)
                || label.equals(VARIABLES)
                || label.endsWith(URL) && (text.contains("@") || text.contains("?"));
        return secret ? text.getBytes(StandardCharsets.UTF_8).length + " bytes" : '"' + text + '"';
    }

    /** A value of this type, or {@code off} instead. */
    ValueType<T> orOff(T off) {
        return new ValueType<>(
                "off|" + label, "off, or " + expected, items -> isOff(items) ? off : parser.apply(items), separator);
    }

    /** A value of this type, or {@code off} as an empty one. */
    ValueType<Optional<T>> orOff() {
        return new ValueType<Optional<T>>(label, expected, items -> Optional.of(parser.apply(items)), separator)
                .orOff(Optional.empty());
    }

    /** YAML 1.1 reads an unquoted off as false, and many editors write false. */
    private static boolean isOff(List<String> items) {
        return items.equals(List.of("off")) || items.equals(List.of("false"));
    }

    static <T> ValueType<T> single(String label, String expected, Function<String, T> parser) {
        return new ValueType<>(label, expected, items -> parser.apply(items.get(0)), null);
    }

    static ValueType<String> text(String label, String expected, int maxChars) {
        return single(label, expected, text -> {
            require(!text.isBlank() && text.length() <= maxChars);
            return text;
        });
    }

    static ValueType<Integer> number(int min, int max) {
        String label = min + ".." + max;
        return single(label, "a whole number from " + min + " to " + max, text -> number(text, min, max));
    }

    /** A number from 1, or {@code off} as 0. */
    static ValueType<Integer> numberOrOff(int max) {
        return number(1, max).orOff(0);
    }

    static ValueType<Integer> numberOrAuto(int min, int max) {
        return single(
                "auto|" + min + ".." + max,
                "auto, or a whole number from " + min + " to " + max,
                text -> text.equals("auto") ? 0 : number(text, min, max));
    }

    static int number(String text, int min, int max) {
        return within(Integer.parseInt(text), min, max);
    }

    /**
     * Where a port listens: the port, if need be after an address.
     *
     * @param host of a port without an address; {@code null} = every address
     */
    static ValueType<ListenAddress> listen(@Nullable String host) {
        return single("[HOST:]PORT", LISTEN, text -> listenAddress(text, false).orOn(host));
    }

    /** Where a port listens, and whether its connections begin with a PROXY header. */
    static ValueType<ListenAddress> listenProxied() {
        String expected = LISTEN + ", and optionally proxy-protocol";
        return single("[HOST:]PORT [proxy-protocol]", expected, text -> {
            String[] words = SPACES.split(text.trim());
            require(words.length == 1 || words.length == 2 && words[1].equals("proxy-protocol"));
            return listenAddress(words[0], words.length == 2);
        });
    }

    private static ListenAddress listenAddress(String text, boolean proxyProtocol) {
        if (text.matches("\\d{1,5}")) {
            return new ListenAddress(null, number(text, 0, 65535), proxyProtocol);
        }
        InetSocketAddress address = address(text);
        return new ListenAddress(address.getHostString(), address.getPort(), proxyProtocol);
    }

    static ValueType<Double> ratio() {
        return single("0..1", "a number from 0 to 1, such as 0.01", text -> {
            require(RATIO.matcher(text).matches());
            return Double.valueOf(text);
        });
    }

    static ValueType<Duration> duration() {
        return single(
                "DURATION",
                "0, or a duration such as 500ms, 10s, 15m or 1h",
                text -> text.equals("0") ? Duration.ZERO : SettingText.duration(text));
    }

    /** A positive duration, or {@code off} as zero. */
    static ValueType<Duration> durationOrOff() {
        return positiveDuration().orOff(Duration.ZERO);
    }

    /** A duration that is not shorter than {@code least}, or {@code off} as zero. */
    static ValueType<Duration> durationOrOff(Duration least) {
        ValueType<Duration> duration =
                single("DURATION", "a duration of at least " + least.toSeconds() + "s, such as 15m", text -> {
                    Duration given = SettingText.duration(text);
                    require(given.compareTo(least) >= 0);
                    return given;
                });
        return duration.orOff(Duration.ZERO);
    }

    static ValueType<Duration> positiveDuration() {
        return single(
                "DURATION", "a positive duration such as 500ms, 10s, 15m or 1h", ValueType::parsePositiveDuration);
    }

    static Duration parsePositiveDuration(String text) {
        Duration duration = SettingText.duration(text);
        require(!duration.isZero());
        return duration;
    }

    /** A share such as {@code 25%}, as a whole number of hundredths. */
    static ValueType<Integer> percent(int min, int max) {
        String expected = "a share from " + min + "% to " + max + "%";
        return single(min + "%.." + max + "%", expected, text -> parsePercent(text, min, max));
    }

    static int parsePercent(String text, int min, int max) {
        Matcher matcher = PERCENT.matcher(text);
        require(matcher.matches());
        return number(matcher.group(1), min, max);
    }

    /** A fixed delay, a percentile of the response times, or {@code off}. */
    static ValueType<HedgeDelay> hedgeDelay() {
        ValueType<HedgeDelay> delay = single(
                "pNN|DURATION",
                "p50 to p99, or a positive duration such as 50ms",
                text -> text.startsWith("p")
                        ? new HedgeDelay(Duration.ZERO, number(text.substring(1), 50, 99))
                        : new HedgeDelay(parsePositiveDuration(text), 0));
        return delay.orOff(HedgeDelay.OFF);
    }

    static ValueType<Set<RetryCondition>> retryConditions() {
        Map<String, RetryCondition> tokens = new LinkedHashMap<>();
        for (RetryCondition condition : RetryCondition.values()) {
            tokens.put(condition.token(), condition);
        }
        ValueType<Set<RetryCondition>> conditions = new ValueType<>(
                "CONDITION...",
                "some of " + String.join(", ", tokens.keySet()),
                items -> {
                    require(!items.isEmpty() && tokens.keySet().containsAll(items));
                    return items.stream().map(tokens::get).collect(Collectors.toUnmodifiableSet());
                },
                COMMAS);
        return conditions.orOff(Set.of());
    }

    /** A size in bytes. */
    static ValueType<Integer> size(int minBytes, int maxBytes) {
        String min = formatSize(minBytes);
        String max = formatSize(maxBytes);
        return single(
                min + ".." + max,
                "a size from " + min + " to " + max,
                text -> SettingText.bytes(text, minBytes, maxBytes));
    }

    /** A size in bytes; 0 = auto. */
    static ValueType<Integer> sizeOrAuto(int minBytes, int maxBytes) {
        String min = formatSize(minBytes);
        String max = formatSize(maxBytes);
        return single(
                "auto|" + min + ".." + max,
                "auto, or a size from " + min + " to " + max,
                text -> text.equals("auto") ? 0 : SettingText.bytes(text, minBytes, maxBytes));
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
        return choice(type, "-");
    }

    /**
     * @param separator replaces the underscores of a constant's name, which is shown in lower case
     */
    static <E extends Enum<E>> ValueType<E> choice(Class<E> type, String separator) {
        return choice(List.of(type.getEnumConstants()), separator);
    }

    /** Some constants of a type. */
    static <E extends Enum<E>> ValueType<E> choice(List<E> values, String separator) {
        Map<String, E> choices = new LinkedHashMap<>();
        for (E value : values) {
            choices.put(value.name().toLowerCase(Locale.ROOT).replace("_", separator), value);
        }
        return choice(choices, "one of " + String.join(", ", choices.keySet()), String.join("|", choices.keySet()));
    }

    /** Several different constants, separated by commas or spaces, in lower case. */
    static <E extends Enum<E>> ValueType<List<E>> choices(String label, Class<E> type) {
        Map<String, E> choices = new LinkedHashMap<>();
        for (E value : type.getEnumConstants()) {
            choices.put(value.name().toLowerCase(Locale.ROOT), value);
        }
        return new ValueType<>(
                label,
                "one or more of " + String.join(", ", choices.keySet()) + ", each at most once",
                items -> {
                    require(!items.isEmpty() && choices.keySet().containsAll(items));
                    require(new TreeSet<>(items).size() == items.size());
                    return items.stream().map(choices::get).toList();
                },
                COMMAS);
    }

    /** Returns the names of all constants, as {@link #choices} takes them. */
    static <E extends Enum<E>> String allOf(Class<E> type) {
        return Arrays.stream(type.getEnumConstants())
                .map(value -> value.name().toLowerCase(Locale.ROOT))
                .collect(Collectors.joining(", "));
    }

    private static <T> ValueType<T> choice(Map<String, T> choices, String expected, String label) {
        return single(label, expected, text -> {
            require(choices.containsKey(text));
            return Objects.requireNonNull(choices.get(text));
        });
    }

    /**
     * One secret of at least {@value LaunchToken#MIN_SECRET_BYTES} bytes, which is never shown, or
     * {@code file:} and the path of a file that holds one in each line. If there are other
     * characters than those of ASCII in the file, it is one binary secret, without the line ends
     * after it.
     */
    static ValueType<List<byte[]>> secrets() {
        String expected =
                "at least " + LaunchToken.MIN_SECRET_BYTES + " random bytes, or file: and the path of a readable"
                        + " file that holds as many, in each line if it is text";
        return single(SECRET, expected, text -> {
            if (text.startsWith(SECRET_FILE)) {
                return secretsIn(Path.of(text.substring(SECRET_FILE.length())));
            }
            // The path of a file is no secret. Whoever writes one has forgotten what comes before.
            require(!text.isBlank() && !(text.startsWith("/") && Files.exists(Path.of(text))));
            return List.of(longEnough(text.getBytes(StandardCharsets.UTF_8)));
        });
    }

    private static List<byte[]> secretsIn(Path file) {
        byte[] bytes = read(file);
        String text = new String(bytes, StandardCharsets.ISO_8859_1);
        if (!TEXT.matcher(text).matches()) {
            int length = bytes.length;
            while (bytes[length - 1] == '\n' || bytes[length - 1] == '\r') {
                length--;
            }
            return List.of(longEnough(Arrays.copyOf(bytes, length)));
        }
        List<byte[]> secrets = text.lines()
                .filter(line -> !line.isEmpty())
                .map(line -> longEnough(line.getBytes(StandardCharsets.ISO_8859_1)))
                .toList();
        require(!secrets.isEmpty());
        return secrets;
    }

    private static byte[] longEnough(byte[] secret) {
        require(secret.length >= LaunchToken.MIN_SECRET_BYTES);
        return secret;
    }

    private static byte[] read(Path file) {
        try {
            return Files.readAllBytes(file);
        } catch (IOException e) {
            throw new IllegalArgumentException(e);
        }
    }

    static ValueType<Path> file() {
        return single("FILE", READABLE_FILE, text -> {
            Path path = Path.of(text);
            require(Files.isRegularFile(path) && Files.isReadable(path));
            return path;
        });
    }

    /** A file, or {@link #OFF}. */
    static ValueType<Path> fileOrOff() {
        // YAML 1.1 reads an unquoted off as false, and many editors write false.
        return single(
                "FILE|off",
                READABLE_FILE + ", or off",
                text -> text.equals("off") || text.equals("false")
                        ? OFF
                        : file().parser().apply(List.of(text)));
    }

    static ValueType<Path> path() {
        return single("FILE", "a path", text -> {
            require(!text.isBlank());
            return Path.of(text);
        });
    }

    static ValueType<Path> directory() {
        return single("DIR", DIRECTORY, text -> {
            // An empty path is the working directory.
            require(!text.isEmpty());
            Path path = Path.of(text);
            require(Files.isDirectory(path) && Files.isReadable(path));
            return path;
        });
    }

    /** A URL without user, password and query, because URLs are shown and logged. */
    static ValueType<URI> uri() {
        return single(URL, "a URL such as http://host:4566, without user, password and query", text -> {
            URI uri = URI.create(text);
            require("http".equals(uri.getScheme()) || "https".equals(uri.getScheme()));
            require(uri.getHost() != null && uri.getUserInfo() == null && uri.getQuery() == null);
            return uri;
        });
    }

    /**
     * A collector of OTLP.
     *
     * @param signal what it collects, which is the end of its path
     * @param grpc whether a URL without a path stands for gRPC
     */
    static ValueType<URI> collectorOf(String signal, boolean grpc) {
        String path = "/v1/" + signal;
        String expected = "a URL without user, password and query, "
                + (grpc
                        ? "and without a path for gRPC, such as http://collector:4317, or with the path of HTTP"
                        : "with the path " + path)
                + ", such as http://collector:4318" + path;
        ValueType<URI> uri = uri();
        return single(URL, expected, text -> {
            URI collector = uri.parser.apply(List.of(text));
            require(collector.getFragment() == null);
            require(collector.getPath().endsWith(path)
                    || grpc && collector.getPath().length() <= 1);
            return collector;
        });
    }

    static ValueType<String> className() {
        return single("CLASS", "the full name of a class, with ::method if a method is the handler", text -> {
            require(CLASS_NAME.matcher(text).matches());
            return text;
        });
    }

    /** Items separated by spaces. In a YAML list, an item may contain spaces. */
    static ValueType<List<String>> words(String label, String expected) {
        return new ValueType<>(label, expected, List::copyOf, SPACES);
    }

    /**
     * Environment variables separated by spaces. In a YAML list, a value may contain spaces. If a
     * name occurs twice, the last value is used.
     */
    static ValueType<Map<String, String>> variables() {
        return new ValueType<>(
                VARIABLES,
                "NAME=VALUE, separated by spaces, or a list if a value contains spaces",
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

    /** Unresolved addresses, because they may be meant for another network. */
    static ValueType<List<InetSocketAddress>> addresses() {
        return new ValueType<>(
                "HOST:PORT...",
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

    static void require(boolean holds) {
        if (!holds) {
            throw new IllegalArgumentException();
        }
    }
}
