package io.lambdadispatcher.worker.adapter.web;

import java.time.Duration;

/**
 * How to see that the application can take requests.
 *
 * @param port of the check
 * @param path asked with GET; not used with {@link Probe#TCP}
 * @param healthy answers that mean ready
 * @param interval between two attempts
 * @param limit for all of them; the application has failed to start when it is over
 */
public record ReadinessCheck(
        Probe probe, int port, String path, StatusCodes healthy, Duration interval, Duration limit) {
    /** What an attempt is. */
    public enum Probe {
        /** A response to a request. */
        HTTP,
        /** That a connection opens. */
        TCP
    }

    public ReadinessCheck {
        if (port < 1 || port > 65_535) {
            throw new IllegalArgumentException("readiness port is " + port + ", expected 1 to 65535");
        }
        if (!path.startsWith("/")) {
            throw new IllegalArgumentException("readiness path is '" + path + "', expected it to begin with /");
        }
        if (interval.isNegative() || interval.isZero() || limit.isNegative() || limit.isZero()) {
            throw new IllegalArgumentException(
                    "readiness interval and limit are " + interval + " and " + limit + ", expected more than zero");
        }
    }

    /** GET / each 10 ms, anything below 500, for up to five minutes. */
    public static ReadinessCheck of(int port) {
        return new ReadinessCheck(
                Probe.HTTP, port, "/", StatusCodes.ALL_BUT_SERVER_ERRORS, Duration.ofMillis(10), Duration.ofMinutes(5));
    }

    public ReadinessCheck withProbe(Probe value) {
        return new ReadinessCheck(value, port, path, healthy, interval, limit);
    }

    public ReadinessCheck withPort(int value) {
        return new ReadinessCheck(probe, value, path, healthy, interval, limit);
    }

    public ReadinessCheck withPath(String value) {
        return new ReadinessCheck(probe, port, value, healthy, interval, limit);
    }

    public ReadinessCheck withHealthy(StatusCodes value) {
        return new ReadinessCheck(probe, port, path, value, interval, limit);
    }

    public ReadinessCheck withTimes(Duration newInterval, Duration newLimit) {
        return new ReadinessCheck(probe, port, path, healthy, newInterval, newLimit);
    }
}
