package io.lambdadispatcher.core.observe;

import java.util.Locale;

/** The state of a breaker, which keeps requests away from a function that fails. */
public enum BreakerState {
    /** All requests pass. */
    CLOSED(100),
    /** No request passes. */
    OPEN(0),
    /** 20 % of the requests pass. */
    RAMP_20(20),
    /** 60 % of the requests pass. */
    RAMP_60(60);

    private final int percent;
    private final String token = name().toLowerCase(Locale.ROOT);

    BreakerState(int percent) {
        this.percent = percent;
    }

    /** Returns the share of the requests that pass, in percent. */
    public int percent() {
        return percent;
    }

    /** Returns the name in lower case, as logs show it. */
    public String token() {
        return token;
    }
}
