package io.lambdadispatcher.wire.http2;

import io.netty.util.Version;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * Says at startup if a program has brought together another Netty than this one needs. Without it, the program would learn it from a
 * {@link NoSuchMethodError} in the middle of a request. Any thread.
 */
public final class NettyRequirement {
    private static final String NEEDED = "4.2.";

    private NettyRequirement() {}

    /**
     * Looks at the versions that Netty's jars name.
     *
     * @throws IllegalStateException if one of them is not 4.2; the message names it, and where it was found
     */
    public static void verify() {
        Map<String, String> versions = new TreeMap<>();
        Version.identify().forEach((artifact, version) -> versions.put(artifact, version.artifactVersion()));
        verify(versions, String.valueOf(Version.class.getProtectionDomain().getCodeSource()));
    }

    static void verify(Map<String, String> versions, String source) {
        List<String> others = new ArrayList<>();
        versions.forEach((artifact, version) -> {
            // netty-tcnative has versions of its own.
            if (!artifact.contains("tcnative") && !version.startsWith(NEEDED)) {
                others.add(artifact + " " + version);
            }
        });
        if (!others.isEmpty()) {
            throw new IllegalStateException(
                    "Lambda Dispatcher needs Netty 4.2, found " + String.join(", ", others)
                            + " (netty-common from " + source
                            + "). Import io.netty:netty-bom of a 4.2 version before other BOMs, or exclude what brings the other version");
        }
    }
}
