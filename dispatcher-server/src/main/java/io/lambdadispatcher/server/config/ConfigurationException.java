package io.lambdadispatcher.server.config;

import java.util.List;

/** The settings are not usable; holds everything that is wrong with them, one line each. */
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
