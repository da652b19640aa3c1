package io.lambdadispatcher.server;

/** The exit codes of the program. */
final class ExitCode {
    static final int OK = 0;
    /** The program could not start, or failed later. */
    static final int FAILED = 1;
    /** Wrong flags or settings. */
    static final int USAGE = 2;

    private ExitCode() {}
}
