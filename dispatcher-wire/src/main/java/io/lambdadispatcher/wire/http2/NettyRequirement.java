package io.lambdadispatcher.wire.http2;

import io.netty.util.AsciiString;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.net.URL;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Checks at startup whether the program uses a Netty version that does not fit. Otherwise, the
 * program would get a {@link NoSuchMethodError} during a request. Any thread.
 */
public final class NettyRequirement {
    /**
     * The first version whose decoder checks pseudo-headers, on which {@link
     * Http2Assembly#publicServer} relies.
     */
    private static final int FIRST_PATCH = 16;

    /** Each jar of Netty has a file of this name, with a property that names the artifact. */
    private static final String VERSIONS = "META-INF/io.netty.versions.properties";

    private static final String SUFFIX = ".version";

    private static final Pattern LINE = Pattern.compile("4\\.2\\.(\\d{1,6})\\..*");

    private NettyRequirement() {}

    /**
     * Checks the versions of Netty's jars.
     *
     * @throws IllegalStateException if one of them is not 4.2.16 or a newer 4.2; the message has
     *     its name and where it was found
     */
    public static void verify() {
        verify(
                versions(),
                String.valueOf(AsciiString.class.getProtectionDomain().getCodeSource()));
    }

    /**
     * Returns the version of each Netty artifact. Netty's {@code Version.identify()} does the same,
     * but also parses dates, which is expensive in the cold start of a worker.
     */
    static Map<String, String> versions() {
        Map<String, String> versions = new TreeMap<>();
        try {
            for (URL file : Collections.list(AsciiString.class.getClassLoader().getResources(VERSIONS))) {
                Properties properties = new Properties();
                try (InputStream content = file.openStream()) {
                    properties.load(content);
                }
                for (String name : properties.stringPropertyNames()) {
                    if (name.endsWith(SUFFIX)) {
                        versions.put(name.substring(0, name.length() - SUFFIX.length()), properties.getProperty(name));
                    }
                }
            }
        } catch (IOException e) {
            throw new UncheckedIOException("cannot read " + VERSIONS, e);
        }
        return versions;
    }

    static void verify(Map<String, String> versions, String source) {
        List<String> others = new ArrayList<>();
        versions.forEach((artifact, version) -> {
            // netty-tcnative has its own versions.
            if (!artifact.contains("tcnative") && !isNeeded(version)) {
                others.add(artifact + " " + version);
            }
        });
        if (!others.isEmpty()) {
            throw new IllegalStateException(
                    "Lambda Dispatcher needs Netty 4.2." + FIRST_PATCH + " or a newer 4.2, found "
                            + String.join(", ", others)
                            + " (netty-common from " + source
                            + "). Import io.netty:netty-bom of such a version before other BOMs, or exclude what brings the other version");
        }
    }

    private static boolean isNeeded(String version) {
        Matcher line = LINE.matcher(version);
        return line.matches() && Integer.parseInt(line.group(1)) >= FIRST_PATCH;
    }
}
