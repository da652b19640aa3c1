package io.lambdadispatcher.core.internal.pool;

import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * Finds the entry with the lowest rank in O(1). There is one list of entries per rank, and a bitmap
 * marks the lists that are not empty. The rank of a worker connection is the number of its
 * exchanges in flight, plus a penalty if it refuses requests. Each list is in the order of
 * insertion. Confined to one event loop.
 */
final class LeastOutstanding<E extends LeastOutstanding.Entry> {

    /** An object with a rank. */
    abstract static class Entry {
        private @Nullable Entry previous;
        private @Nullable Entry next;
        private int list = NONE;
    }

    private static final int NONE = -1;

    private @Nullable Entry[] firsts = new Entry[Long.SIZE];
    private @Nullable Entry[] lasts = new Entry[Long.SIZE];
    private long[] occupied = new long[1];

    /**
     * Returns the entry with the lowest rank, or {@code null} if there is none. Does not remove it.
     */
    @SuppressWarnings("unchecked") // only put() puts entries in
    @Nullable
    E least() {
        for (int word = 0; word < occupied.length; word++) {
            if (occupied[word] != 0) {
                return (E) firsts[word * Long.SIZE + Long.numberOfTrailingZeros(occupied[word])];
            }
        }
        return null;
    }

    /**
     * Returns the entry with the lowest rank that matches, or {@code null}. Takes one step for each
     * entry that does not match.
     */
    @SuppressWarnings("unchecked") // only put() puts entries in
    @Nullable
    E least(Predicate<E> wanted) {
        for (int word = 0; word < occupied.length; word++) {
            for (long lists = occupied[word]; lists != 0; lists &= lists - 1) {
                Entry node = firsts[word * Long.SIZE + Long.numberOfTrailingZeros(lists)];
                for (; node != null; node = node.next) {
                    if (wanted.test((E) node)) {
                        return (E) node;
                    }
                }
            }
        }
        return null;
    }

    /** Adds or moves the entry to the end of the list for its rank. */
    void put(E entry, int rank) {
        Entry node = entry;
        remove(entry);
        ensureList(rank);
        Entry last = lasts[rank];
        node.list = rank;
        node.previous = last;
        if (last == null) {
            firsts[rank] = node;
            occupied[rank / Long.SIZE] |= 1L << rank;
        } else {
            last.next = node;
        }
        lasts[rank] = node;
    }

    /** Removes the entry. Does nothing if the entry is absent. */
    void remove(E entry) {
        Entry node = entry;
        int list = node.list;
        if (list == NONE) {
            return;
        }
        Entry previous = node.previous;
        Entry next = node.next;
        if (previous == null) {
            firsts[list] = next;
        } else {
            previous.next = next;
        }
        if (next == null) {
            lasts[list] = previous;
        } else {
            next.previous = previous;
        }
        if (firsts[list] == null) {
            occupied[list / Long.SIZE] &= ~(1L << list);
        }
        node.previous = null;
        node.next = null;
        node.list = NONE;
    }

    private void ensureList(int index) {
        if (index >= firsts.length) {
            int words = index / Long.SIZE + 1;
            firsts = java.util.Arrays.copyOf(firsts, words * Long.SIZE);
            lasts = java.util.Arrays.copyOf(lasts, words * Long.SIZE);
            occupied = java.util.Arrays.copyOf(occupied, words);
        }
    }
}
