package io.lambdadispatcher.core.observe;

/**
 * How far a canary of a function is: another function that gets a rising share of its requests.
 *
 * @param function the name of the function
 * @param canary the name of the function that gets the share
 * @param state the state of the change
 * @param share the share of the requests that the canary gets now, in percent
 * @param requests requests that the canary has answered since it began, or began again
 * @param failures requests among them that got 5xx, or no complete response
 * @param reason why the canary was stopped, in one line; empty if it was not
 */
public record CanarySnapshot(
        String function, String canary, State state, int share, long requests, long failures, String reason) {

    /** The state of the change. */
    public enum State {
        /** The canary is watched. Its share rises after each step. */
        CANARY,
        /** All steps are done. The canary keeps the share of the last step. */
        COMPLETE,
        /**
         * The canary has failed, or an operator has stopped it. It gets no requests until an
         * operator resumes it.
         */
        STOPPED
    }
}
