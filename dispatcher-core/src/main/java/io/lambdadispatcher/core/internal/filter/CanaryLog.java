package io.lambdadispatcher.core.internal.filter;

import io.lambdadispatcher.core.internal.policy.CanarySteps;
import io.lambdadispatcher.core.observe.CanarySnapshot.State;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Logs what happens to a canary. Any thread. */
record CanaryLog(String function, String canary) implements CanarySteps.Listener {
    private static final Logger log = LoggerFactory.getLogger(CanaryLog.class);

    @Override
    public void onShare(int percent, State state) {
        log.info(
                "canary {} of function {} gets {} % of the requests{}",
                canary, function, percent, state == State.COMPLETE ? ", and has been watched in all steps" : "");
    }

    @Override
    public void onStopped(String reason) {
        log.warn("canary {} of function {} gets no more requests: {}", canary, function, reason);
    }
}
