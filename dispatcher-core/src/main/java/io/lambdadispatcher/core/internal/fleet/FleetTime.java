package io.lambdadispatcher.core.internal.fleet;

/**
 * The two clocks of a dispatcher. A pause of the process or of its machine can stop one of them, so
 * the age of a lease is the longer of the two times.
 */
public interface FleetTime {
    /** Like {@link System#nanoTime()}. */
    long nanos();

    /** Milliseconds since 1970-01-01. */
    long millis();
}
