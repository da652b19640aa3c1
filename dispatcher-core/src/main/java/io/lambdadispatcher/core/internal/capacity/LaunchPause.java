package io.lambdadispatcher.core.internal.capacity;

/**
 * Says that a function has no worker, that none is starting, and that launches are blocked for some
 * time.
 *
 * @param reason why launches are blocked, in one line; clients see it, so it contains no error
 *     messages of AWS
 * @param untilNanos when launches may continue at the earliest, by the ticker of the event loops
 * @param refusesAll true = all requests are refused, because the next launch may fail or may never
 *     come; false = requests wait if their queue timeout ends after the pause
 */
public record LaunchPause(String reason, long untilNanos, boolean refusesAll) {}
