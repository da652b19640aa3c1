package io.lambdadispatcher.server;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;

import io.lambdadispatcher.server.config.Configuration;
import io.lambdadispatcher.server.config.ConfigurationException;
import io.lambdadispatcher.server.config.ConfigurationLoader;
import io.lambdadispatcher.server.config.Setting;
import io.lambdadispatcher.server.config.Settings;
import io.lambdadispatcher.server.config.ValueType;
import io.lambdadispatcher.server.log.Logging;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.slf4j.event.Level;

/**
 * A reload can change each setting that is said to change by one, to whatever is valid at a start.
 * A reload that is refused for one setting would also refuse the next certificate.
 */
class ReloadableSettingsTest {
    /** Texts of which each setting takes some. Most are not the default of any. */
    private static final List<String> TEXTS = List.of(
            "off",
            "on",
            "1",
            "3",
            "100",
            "1024",
            "0.5",
            "70%",
            "77s",
            "2m",
            "65KiB",
            "128KiB",
            "p95",
            "10/s by client",
            "/other",
            "www.example.org",
            "x-other",
            "x-other: yes",
            "cookie session",
            "sheddable",
            "500, timeout",
            "modern",
            "careful",
            "4 at 0 8 * * 1-5 for 1h in UTC",
            "50% slow 500ms",
            "gzip",
            "text/plain",
            "reject-ambiguous",
            "forwarded",
            "debug",
            "-Xmx77m",
            "sleep 61",
            "java.lang.Object",
            "NAME=value",
            "5% to f1",
            "another-secret-of-some-bytes");

    /** Without them, the AWS SDK would ask the network for others. */
    private static final Map<String, String> KEYS = Map.of("aws.accessKeyId", "any", "aws.secretAccessKey", "any");

    /** Values of one setting, because a reload of all settings takes a while. */
    private static final int MOST_TEXTS = 1;

    /** They change together. ReloadTest and ReloaderTest change them. */
    private static final Pattern FILES = Pattern.compile(".*\\.tls\\.(certificate|key|client-certificates)");

    private static final String OF_FUNCTION = "function.";

    @TempDir
    Path directory;

    private Server server;

    @BeforeEach
    void setKeys() {
        KEYS.forEach(System::setProperty);
    }

    @AfterEach
    void stop() throws InterruptedException {
        if (server != null) {
            server.stop(false);
        }
        Logging.setLevel(Level.INFO);
        KEYS.keySet().forEach(System::clearProperty);
    }

    private static Map<String, String> settings() {
        Map<String, String> settings = new LinkedHashMap<>(Map.of(
                "public.plain.port", "127.0.0.1:0",
                "workers.port", "127.0.0.1:0",
                "workers.advertised-addresses", "127.0.0.1:0",
                "workers.secret", "0123456789abcdef",
                "admin.port", "0",
                "forwarding.trust", "append",
                "local.command", "sleep 60",
                "aws.region", "eu-central-1",
                "aws.endpoint", "http://127.0.0.1:9"));
        settings.put("shutdown.grace", "0");
        return settings;
    }

    /** @param first of the settings of the first function */
    private Configuration load(Map<String, String> settings, int functions, Map<String, String> first)
            throws Exception {
        String lines = IntStream.range(0, functions)
                .mapToObj(
                        i -> "- " + yaml(i == 0 ? first : Map.of("name", "f" + i, "path", "/f" + i, "mode", "direct")))
                .collect(Collectors.joining("\n"));
        Path file = Files.writeString(
                directory.resolve("dispatcher.yaml"),
                String.join(
                                "\n",
                                settings.entrySet().stream()
                                        .map(e -> e.getKey() + ": '" + e.getValue() + "'")
                                        .toList())
                        + "\nfunctions:\n" + lines + "\n");
        return ConfigurationLoader.load(Map.of(), file, Map.of(), Map.of(), List.of());
    }

    private static String yaml(Map<String, String> settings) {
        return settings.entrySet().stream()
                .map(each -> each.getKey() + ": '" + each.getValue() + "'")
                .collect(Collectors.joining(", ", "{", "}"));
    }

    @ParameterizedTest
    @CsvSource({"external, 1", "external, 2", "local, 1", "local, 2", "lambda, 1", "lambda, 2"})
    void should_never_refuse_a_value_that_is_valid_at_a_start(String launcher, int functions) throws Exception {
        Map<String, String> settings = settings();
        Map<String, String> first = new LinkedHashMap<>(Map.of("name", "f0", "launcher", launcher));
        if (!launcher.equals("external")) {
            first.put("max-workers", "9");
        }
        Configuration start = load(settings, functions, first);
        server = Server.start(start, Map.of());
        Set<String> unchanged = new TreeSet<>();
        for (Setting<?> setting : Settings.TABLE.byFlag().values()) {
            if (setting.reloads() && !FILES.matcher(setting.name()).matches()) {
                Map<String, Configuration> changed = changed(setting, settings, functions, first);
                changed.forEach((text, next) -> assertThatCode(() -> server.reload(next))
                        .as(setting.name() + ": " + text)
                        .doesNotThrowAnyException());
                if (changed.isEmpty()) {
                    unchanged.add(setting.name());
                }
            }
        }
        assertThat(server.reload(start).restarts()).isEmpty();
        assertThat(unchanged)
                .as("settings for which no text is valid")
                .isEqualTo(
                        launcher.equals("external")
                                ? Set.of("function.max-workers", "function.min-workers")
                                : Set.of());
    }

    /** Returns configurations in which a setting has other values, by their texts. */
    private Map<String, Configuration> changed(
            Setting<?> setting, Map<String, String> settings, int functions, Map<String, String> first)
            throws Exception {
        boolean ofFunction = setting.name().startsWith(OF_FUNCTION);
        Map<String, Configuration> changed = new LinkedHashMap<>();
        for (String text : TEXTS) {
            Map<String, String> next = new LinkedHashMap<>(ofFunction ? first : settings);
            next.put(ofFunction ? setting.name().substring(OF_FUNCTION.length()) : setting.name(), text);
            if (changed.size() < MOST_TEXTS && canBe(setting.type(), text)) {
                try {
                    changed.put(text, ofFunction ? load(settings, functions, next) : load(next, functions, first));
                } catch (ConfigurationException e) {
                    // Another setting contradicts it, also at a start.
                }
            }
        }
        return changed;
    }

    /** Loading all settings for each text would take a minute. */
    private static boolean canBe(ValueType<?> type, String text) {
        try {
            type.parser()
                    .apply(
                            type.separator() == null
                                    ? List.of(text)
                                    : List.of(type.separator().split(text)));
            return true;
        } catch (IllegalArgumentException | ArithmeticException e) {
            return false;
        }
    }
}
