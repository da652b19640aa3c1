package io.lambdadispatcher.server.config;

import java.util.List;

/** Thrown if settings are invalid. Holds all problems, one line each. */
public final class ConfigurationException extends Exception {
    private static final long serialVersionUID = 1;

    private final transient List<String> problems;

    ConfigurationException(List<String> problems) {
        super(String.join("\n", problems));
        this.problems = List.copyOf(problems);
    }

    public List<String> problems() {
        return problems;
    }
}
