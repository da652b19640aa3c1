package io.lambdadispatcher.core.observe;

import java.util.Locale;

/**
 * What became of a copy of a request, compared with the request. Times are from the arrival of the
 * request until the headers of the response, in nanoseconds.
 *
 * @param function the name of the function that the request is for
 * @param shadow the name of the function that got the copy
 * @param result how the two compare
 * @param status the status of the response to the client; 0 = there was none
 * @param shadowStatus the status of the response to the copy; 0 = there was none
 * @param nanos time of the response to the client; -1 = there was none
 * @param shadowNanos time of the response to the copy; -1 = there was none
 */
public record ShadowEnd(
        String function, String shadow, Result result, int status, int shadowStatus, long nanos, long shadowNanos) {

    /** How a copy compares with its request. */
    public enum Result {
        /** Both statuses are of the same class, for example 2xx. */
        SAME,
        /** The statuses are of different classes. */
        DIFFERENT,
        /** The other function has not answered: no worker was free, or a timeout passed. */
        FAILED,
        /** The other function was too slow to take the body, so the copy was cancelled. */
        LAGGED,
        /** The request has failed or was cancelled, so there is nothing to compare with. */
        NOT_COMPARED,
        /** The request was not copied, because too many copies are in flight. */
        SKIPPED;

        private final String token = name().toLowerCase(Locale.ROOT);

        /** Returns the name in lower case, as metrics show it. */
        public String token() {
            return token;
        }
    }

    /** Returns whether both responses have arrived, so that their times can be compared. */
    public boolean isCompared() {
        return result == Result.SAME || result == Result.DIFFERENT;
    }
}
