package io.lambdadispatcher.server.config;

/**
 * Where a value came from.
 *
 * @param where in words, for messages
 */
public record Source(Kind kind, String where) {
    /** A later one overrides those before it. */
    public enum Kind {
        DEFAULT,
        FILE,
        ENVIRONMENT,
        FLAG
    }

    static final Source DEFAULT = new Source(Kind.DEFAULT, "default");

    static Source file(String name, int line) {
        return new Source(Kind.FILE, name + " line " + line);
    }

    static Source environment(String variable) {
        return new Source(Kind.ENVIRONMENT, "environment variable " + variable);
    }

    static Source flag(String flag) {
        return new Source(Kind.FLAG, "flag " + flag);
    }

    @Override
    public String toString() {
        return where;
    }
}
