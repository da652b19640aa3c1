package io.lambdadispatcher.core.internal.policy;

import org.jspecify.annotations.Nullable;

/**
 * Rendezvous hashing with bounded load. Each pair of a key and a worker has a score, and the worker
 * with the highest score serves the key. All event loops and all dispatchers of a fleet calculate
 * the same scores, so they agree without talking to each other. If a worker joins, it takes 1/n of
 * the keys. If a worker leaves, only its keys move, and they spread over all others.
 *
 * <p>A worker whose requests in flight exceed the mean by more than a quarter gets no more requests
 * by its keys (Mirrokni, Thorup and Zadimoghaddam: "Consistent Hashing with Bounded Loads"). They
 * go to the next worker in the order of scores. {@code AffinitySimulationTest} compares this with
 * hashing without a bound.
 *
 * <p>A choice calculates one score for each worker. Sorting or a ring would save this time only for
 * functions with thousands of workers, and both must be rebuilt when a worker joins. Any thread.
 */
public final class Rendezvous {
    /** A worker may have this many times the mean number of requests in flight. */
    static final double BOUND = 1.25;

    /**
     * A worker with fewer requests in flight has room, whatever the mean. Otherwise, an idle
     * function would spread the few concurrent requests of one session over all workers.
     */
    static final int FLOOR = 4;

    /** A worker, or one of its connections. The connections of one worker have the same tag. */
    public interface Candidate {
        /** Returns the {@link WorkerTag} of the worker. */
        long tag();

        /** Returns the number of requests in flight. */
        int load();

        /** Returns whether the candidate can take one more request. */
        boolean hasRoom();

        /** Returns whether it is a base worker. Keys go to launched ones if no other has room. */
        default boolean isBase() {
            return false;
        }

        /**
         * Returns whether it is a base worker below its target, while there are launched ones, too.
         */
        default boolean isPreferred() {
            return false;
        }

        /** Returns whether its worker is ejected, and others serve in its place. */
        default boolean isEjected() {
            return false;
        }
    }

    private Rendezvous() {}

    /**
     * Returns the candidate with the highest score among those that have room and are within the
     * bound. If several have the same tag, it is the one with the lowest load. Launched workers are
     * chosen if no base worker can be. So keys do not move when launched workers come and go.
     *
     * @param avoided the tags of workers that are not chosen
     * @return {@code null} if there is none
     */
    static <C extends Candidate> @Nullable C choose(long key, C[] candidates, long[] avoided) {
        C chosen = choose(key, candidates, avoided, true);
        return chosen != null ? chosen : choose(key, candidates, avoided, false);
    }

    private static <C extends Candidate> @Nullable C choose(long key, C[] candidates, long[] avoided, boolean base) {
        int bound = bound(candidates, base);
        C best = null;
        long highest = Long.MIN_VALUE;
        for (C candidate : candidates) {
            long tag = candidate.tag();
            if (candidate.isBase() != base
                    || candidate.load() >= bound
                    || !candidate.hasRoom()
                    || contains(avoided, tag)) {
                continue;
            }
            long score = score(key, tag);
            if (best == null || score > highest || score == highest && candidate.load() < best.load()) {
                best = candidate;
                highest = score;
            }
        }
        return best;
    }

    /**
     * Returns the candidate with the lowest load among those that have room, and among equals the
     * one with the highest score. Base workers below their target come first.
     *
     * @param avoided the tags of workers that are not chosen
     * @return {@code null} if there is none
     */
    static <C extends Candidate> @Nullable C least(long key, C[] candidates, long[] avoided) {
        C least = null;
        for (C candidate : candidates) {
            if ((least == null || isBefore(key, candidate, least))
                    && candidate.hasRoom()
                    && !contains(avoided, candidate.tag())) {
                least = candidate;
            }
        }
        return least;
    }

    private static boolean isBefore(long key, Candidate one, Candidate other) {
        boolean preferred = one.isPreferred();
        if (preferred != other.isPreferred()) {
            return preferred;
        }
        int order = Integer.compare(one.load(), other.load());
        return order < 0 || order == 0 && score(key, one.tag()) > score(key, other.tag());
    }

    static boolean contains(long[] tags, long tag) {
        for (long each : tags) {
            if (each == tag) {
                return true;
            }
        }
        return false;
    }

    /** Returns whether the chosen candidate would be the key's if all had room. */
    static <C extends Candidate> boolean isFirst(long key, C[] candidates, C chosen) {
        long its = score(key, chosen.tag());
        for (C candidate : candidates) {
            boolean sameKind = candidate.isBase() == chosen.isBase();
            if (sameKind ? score(key, candidate.tag()) > its : candidate.isBase()) {
                return false;
            }
        }
        return true;
    }

    /**
     * Returns the number of requests in flight at which a candidate of this kind has no more room.
     */
    static <C extends Candidate> int bound(C[] candidates, boolean base) {
        long requests = 1; // the one to be placed
        int count = 0;
        for (C candidate : candidates) {
            if (candidate.isBase() == base) {
                requests += candidate.load();
                count++;
            }
        }
        return count == 0 ? FLOOR : (int) Math.max(FLOOR, Math.ceil(BOUND * requests / count));
    }

    private static long score(long key, long tag) {
        return mix(key ^ tag);
    }

    /**
     * Returns a hash of a text. It is part of what the dispatchers of a fleet agree on, so it must
     * never change: FNV-1a over the characters, then {@link #mix}.
     */
    static long hash(CharSequence text) {
        long hash = 0xcbf29ce484222325L;
        for (int i = 0; i < text.length(); i++) {
            hash = (hash ^ text.charAt(i)) * 0x100000001b3L;
        }
        return mix(hash);
    }

    /** Spreads each bit over all bits (the finalizer of MurmurHash3). */
    private static long mix(long value) {
        long mixed = value;
        mixed = (mixed ^ mixed >>> 33) * 0xff51afd7ed558ccdL;
        mixed = (mixed ^ mixed >>> 33) * 0xc4ceb9fe1a85ec53L;
        return mixed ^ mixed >>> 33;
    }
}
