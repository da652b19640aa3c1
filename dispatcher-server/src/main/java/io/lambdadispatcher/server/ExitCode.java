package io.lambdadispatcher.server;

/** How the program ends. */
final class ExitCode {
    static final int OK = 0;
    /** It could not start, or could not go on. */
    static final int FAILED = 1;
    /** Wrong flags or settings. */
    static final int USAGE = 2;

    private ExitCode() {}
}
