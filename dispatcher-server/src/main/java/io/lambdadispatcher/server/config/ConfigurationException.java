package io.lambdadispatcher.server.config;

import java.nio.file.Path;
import java.util.List;
import java.util.Map;

/** Thrown if settings are invalid. Holds all problems, one line each. */
public final class ConfigurationException extends Exception {
    private static final long serialVersionUID = 1;

    private final transient List<String> problems;
    private final transient Map<Path, String> digests;

    public ConfigurationException(List<String> problems) {
        this(problems, Map.of());
    }

    /** @param digests of the files that these settings name, as they were read */
    ConfigurationException(List<String> problems, Map<Path, String> digests) {
        super(String.join("\n", problems));
        this.problems = List.copyOf(problems);
        this.digests = Map.copyOf(digests);
    }

    public List<String> problems() {
        return problems;
    }

    /**
     * Returns the digest of each file that these settings name, and of the settings file, as they
     * were read. If one of them changes, the settings may be valid.
     */
    public Map<Path, String> digests() {
        return digests;
    }
}
