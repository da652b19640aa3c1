package io.lambdadispatcher.server.config;

/** Where workers live. */
public enum LauncherKind {
    /** Somebody else starts them; they sign their own launch token with the shared secret. */
    SELF,
    /** Processes on this machine. */
    LOCAL,
    /** On AWS Lambda, one invoke for each. */
    LAMBDA
}
