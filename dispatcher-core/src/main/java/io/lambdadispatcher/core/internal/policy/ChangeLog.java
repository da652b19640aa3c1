package io.lambdadispatcher.core.internal.policy;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Logs how a function changes to another version. Any thread.
 *
 * @param next what the function changes to, such as "version 8"
 * @param old what it changes from
 */
public record ChangeLog(String function, String next, String old) {
    private static final Logger log = LoggerFactory.getLogger(ChangeLog.class);

    public void onStep(String what) {
        log.info("function {}: {}", function, what);
    }

    public void onStopped(String reason) {
        log.warn("function {}: the change to {} has stopped, and {} keeps serving: {}", function, next, old, reason);
    }
}
