package io.lambdadispatcher.wire.http2;

import io.netty.util.Version;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
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

    private static final Pattern LINE = Pattern.compile("4\\.2\\.(\\d{1,6})\\..*");

    private NettyRequirement() {}

    /**
     * Checks the versions of Netty's jars.
     *
     * @throws IllegalStateException if one of them is not 4.2.16 or a newer 4.2; the message has
     *     its name and where it was found
     */
    public static void verify() {
        Map<String, String> versions = new TreeMap<>();
        Version.identify().forEach((artifact, version) -> versions.put(artifact, version.artifactVersion()));
        verify(versions, String.valueOf(Version.class.getProtectionDomain().getCodeSource()));
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
