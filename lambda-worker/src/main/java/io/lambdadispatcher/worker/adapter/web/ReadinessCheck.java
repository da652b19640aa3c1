package io.lambdadispatcher.worker.adapter.web;

import io.lambdadispatcher.worker.adapter.web.WebConfig.Probe;
import java.time.Duration;

/**
 * How to check that the application can take requests. See {@link WebConfig.Builder} for the
 * meaning of each value.
 */
record ReadinessCheck(Probe probe, int port, String path, StatusCodes healthy, Duration interval, Duration limit) {
    ReadinessCheck {
        if (port < 1 || port > 65_535) {
            throw new IllegalArgumentException("readiness port is " + port + ", expected 1 to 65535");
        }
        if (!path.startsWith("/")) {
            throw new IllegalArgumentException("readiness path is '" + path + "', expected a path that begins with /");
        }
        if (interval.isNegative() || interval.isZero() || limit.isNegative() || limit.isZero()) {
            throw new IllegalArgumentException(
                    "readiness interval and limit are " + interval + " and " + limit + ", expected more than zero");
        }
    }
}
