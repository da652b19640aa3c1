package io.lambdadispatcher.server.config;

/** What happens to a path that has more than one spelling. */
public enum PathRule {
    /** Passed on and compared as it was sent. */
    AS_IS,
    /** Replaced by its normal form. What is ambiguous even then is rejected. */
    NORMALIZE,
    /** Rejected if an application could take it for a path of another route. */
    REJECT_AMBIGUOUS
}
