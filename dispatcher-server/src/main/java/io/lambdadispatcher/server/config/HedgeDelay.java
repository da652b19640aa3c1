package io.lambdadispatcher.server.config;

import java.time.Duration;

/**
 * When a hedge starts.
 *
 * @param delay fixed delay; zero = none
 * @param percentile of the recent response times; 0 = none
 */
record HedgeDelay(Duration delay, int percentile) {
    static final HedgeDelay OFF = new HedgeDelay(Duration.ZERO, 0);
}
