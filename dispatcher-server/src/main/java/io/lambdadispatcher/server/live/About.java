package io.lambdadispatcher.server.live;

import io.lambdadispatcher.core.Dispatcher;
import io.lambdadispatcher.server.config.Configuration;
import io.lambdadispatcher.server.config.Configuration.Row;
import io.netty.util.AsciiString;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/** The documents about this process that do not change. */
final class About {
    private static final int HASH_BYTES = 6;

    private About() {}

    static Map<String, Object> version() {
        Map<String, Object> members = new LinkedHashMap<>();
        members.put("version", of(Dispatcher.class));
        members.put("netty", of(AsciiString.class));
        members.put("java", Runtime.version().toString());
        members.put(
                "os",
                System.getProperty("os.name") + " " + System.getProperty("os.version") + ", "
                        + System.getProperty("os.arch"));
        members.put("processors", Runtime.getRuntime().availableProcessors());
        members.put(
                "started",
                Instant.ofEpochMilli(ManagementFactory.getRuntimeMXBean().getStartTime())
                        .toString());
        return members;
    }

    /**
     * Returns the version of a class. Only jars have one, and {@code ./dispatcher} runs this
     * program from a directory of classes, so it shows the version of dispatcher-core.
     */
    private static String of(Class<?> type) {
        String version = type.getPackage().getImplementationVersion();
        return version == null ? "not known" : version;
    }

    /**
     * Returns the settings in force. The hash differs if a setting does, except for what is masked.
     */
    static Map<String, Object> configuration(Configuration configuration) {
        List<Row> rows = configuration.rows();
        List<Object> settings = new ArrayList<>();
        for (Row row : rows) {
            Map<String, Object> members = new LinkedHashMap<>();
            members.put("name", row.name());
            members.put("value", row.value());
            members.put("source", row.source());
            settings.add(members);
        }
        Map<String, Object> document = new LinkedHashMap<>();
        document.put(
                "hash",
                hash(rows.stream().map(row -> row.name() + "=" + row.value()).collect(Collectors.joining("\n"))));
        document.put("settings", settings);
        return document;
    }

    private static String hash(String text) {
        try {
            byte[] digest = MessageDigest.getInstance("SHA-256").digest(text.getBytes(StandardCharsets.UTF_8));
            return HexFormat.of().formatHex(digest, 0, HASH_BYTES);
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException(e);
        }
    }
}
