package io.lambdadispatcher.core.observe;

/**
 * What the process of a dispatcher lacks, at one moment. Immutable.
 *
 * @param throttledNanos processor time for which the process had to wait since it started, because
 *     its control group had used up its quota; -1 = not known, for example outside a container
 * @param loopLagNanos the longest time that a task waited for an event loop in the last second
 * @param gcNanos time of garbage collections since the process started
 * @param heap part of the heap that was in use after the latest garbage collection, 0 to 1
 * @param directMemory part of the direct memory that is in use, 0 to 1
 */
public record ProcessSnapshot(long throttledNanos, long loopLagNanos, long gcNanos, double heap, double directMemory) {}
