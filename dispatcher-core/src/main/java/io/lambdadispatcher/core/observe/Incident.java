package io.lambdadispatcher.core.observe;

import java.time.Duration;
import java.time.Instant;
import org.jspecify.annotations.Nullable;

/**
 * Something that goes wrong for some time, and that an operator should know of. The dispatcher logs
 * one line when an incident begins, and one when it ends, both at WARN. It tells observers at the
 * same times: see {@link DispatcherObserver#onIncident}.
 *
 * @param function the name of the function; empty if the incident concerns no function
 * @param code distinguishes incidents of one kind, for example the token of the failure of the
 *     requests; empty if there is only one
 * @param cause what happened first, in one line
 * @param since when it began
 * @param count how many requests, workers or connections it concerned so far
 * @param lasted time from its begin until its last event; {@code null} = it has not ended
 */
public record Incident(
        Kind kind,
        String function,
        String code,
        String cause,
        Instant since,
        long count,
        @Nullable Duration lasted) {

    /** What goes wrong. {@code docs/guides/troubleshoot.md} says what to do about each. */
    public enum Kind {
        /** Requests get an error because of a limit, for example of the queue. */
        REQUESTS_REFUSED("requests{of} are refused ({code})", "requests"),
        /** Requests get an error that is not the client's fault, or an incomplete response. */
        REQUESTS_FAILED("requests{of} fail ({code})", "requests"),
        /** Client connections are closed because of a limit. */
        CONNECTIONS_REFUSED("client connections are closed ({code})", "connections"),
        /** At least one worker is ejected. */
        WORKERS_EJECTED("workers{of} are ejected", "ejections"),
        /** Workers have disconnected without a goodbye. */
        WORKERS_LOST("workers{of} are lost", "workers"),
        /** Workers that dial in are rejected, or break the protocol. */
        WORKERS_REJECTED("workers that dial in are rejected ({code})", "connections"),
        /** Workers that were launched have failed, or could not be launched. */
        LAUNCHES_FAILED("launched workers{of} fail ({code})", "workers"),
        /** No more workers are launched now, although more may be needed. */
        LAUNCHES_BLOCKED("launches{of} are limited or blocked", ""),
        /** Launched workers have other code than the base, as both state by their versions. */
        VERSIONS_DIFFER("base and launched workers{of} have different versions", ""),
        /** The dispatchers of a fleet cannot agree, because this one cannot reach their ledger. */
        LEDGER_UNREACHABLE("the ledger of the fleet cannot be reached, so soon no workers can be launched", ""),
        /** The dispatcher has too little processor time or memory, so all requests are late. */
        DISPATCHER_SHORT("the dispatcher is short of {code}, so requests are late", "");

        private final String headline;
        private final String unit;

        Kind(String headline, String unit) {
            this.headline = headline;
            this.unit = unit;
        }

        /**
         * Returns what goes wrong, in words that both lines of the log contain.
         *
         * @param function empty = none
         * @param code empty = none
         */
        public String headline(String function, String code) {
            return headline.replace("{of}", function.isEmpty() ? "" : " of function " + function)
                    .replace("{code}", code);
        }

        /**
         * Returns what is counted, in the plural; empty if the incident is a state that is not
         * counted.
         */
        public String unit() {
            return unit;
        }
    }

    /** Returns what goes wrong, in words that both lines of the log contain. */
    public String headline() {
        return kind.headline(function, code);
    }

    /** Returns whether it has ended. */
    public boolean isOver() {
        return lasted != null;
    }

    /** Returns the line of the log that says so. */
    @Override
    public String toString() {
        if (lasted == null) {
            return "incident begins: " + headline() + ": " + cause;
        }
        String unit = count == 1 ? kind.unit.replaceFirst("s$", "") : kind.unit;
        String counted = unit.isEmpty() ? "" : count + " " + unit + " within ";
        return "incident ends: " + headline() + ": " + counted + Math.max(1, lasted.toSeconds())
                + " s, and it began with: " + cause;
    }
}
