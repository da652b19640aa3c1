package io.lambdadispatcher.core.options;

/** What lets the dispatcher send a request again. */
public enum RetryCondition {
    /**
     * The worker refused the request before any user code ran. The request is sent again whatever
     * its method.
     */
    REFUSED("refused"),
    /** The worker or its connection was lost before the headers of the response. */
    LOST("lost"),
    /** No headers of the response have arrived within {@link AttemptPolicy#perTryTimeout}. */
    TIMEOUT("timeout"),
    /** The handler responded with 500, or failed before the headers of its response. */
    STATUS_500("500"),
    /** The handler responded with 502. */
    STATUS_502("502"),
    /** The handler responded with 503. */
    STATUS_503("503"),
    /** The handler responded with 504. */
    STATUS_504("504");

    private final String token;

    RetryCondition(String token) {
        this.token = token;
    }

    /** Returns the name that settings, logs and metrics use. */
    public String token() {
        return token;
    }
}
