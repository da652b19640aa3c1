package io.lambdadispatcher.core.spi;

import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;

/**
 * Stores what the dispatchers of a fleet share. A ledger holds entries of text and replaces one
 * only if its version is the expected one (compare and set). It does not interpret the text.
 *
 * <p><b>Consistency.</b> Writes to one entry are linearizable: of several writes that expect the
 * same version, exactly one is applied. A {@link #read} sees every write that completed before the
 * call. It is no snapshot, because it may see some of the writes that run concurrently, and others
 * not.
 *
 * <p><b>Threading.</b> All methods may be called on any thread, and do not block, except {@link
 * #close}. A stage completes on any thread, and its dependent actions must not block.
 *
 * <p><b>Errors.</b> A stage fails with {@link LedgerException}. It completes or fails within a few
 * seconds, even if the store does not respond. A ledger does not retry writes.
 *
 * <p><b>Sizes.</b> A ledger accepts thousands of entries. Every read transfers all of them, so the
 * entries should be few and small.
 *
 * <p>{@code LedgerContract} in the artifact {@code dispatcher-test} tests an implementation.
 */
public interface Ledger extends AutoCloseable {
    /** The maximum length of a key, in characters. A key can be a function's name and a prefix. */
    int MAX_KEY_CHARS = 320;

    /** The maximum size of a value in UTF-8, in bytes: 300 KiB. */
    int MAX_VALUE_BYTES = 300 * 1024;

    /**
     * One entry of the ledger.
     *
     * @param key identifies the entry in its fleet, 1 to {@value Ledger#MAX_KEY_CHARS} characters
     * @param version the number of times that the entry was written, 1 or more
     * @param value text of at most {@value Ledger#MAX_VALUE_BYTES} bytes in UTF-8. Empty =
     *     what the store has under this key is no entry, and the version may be a wrong one
     */
    record Entry(String key, long version, String value) {
        /**
         * Checks the components. Implementations of {@link Ledger#write} use it to check their
         * arguments.
         *
         * @throws IllegalArgumentException if a component is out of range, or the key contains half
         *     of a surrogate pair
         */
        public Entry {
            if (key.isEmpty()
                    || key.length() > MAX_KEY_CHARS
                    || !StandardCharsets.UTF_8.newEncoder().canEncode(key)) {
                throw new IllegalArgumentException(
                        "key: '" + key + "', expected 1 to " + MAX_KEY_CHARS + " Unicode characters");
            }
            if (version < 1) {
                throw new IllegalArgumentException("version: " + version + ", expected 1 or more");
            }
            // A character has at most 3 bytes, so short values need not be encoded.
            if (value.length() > MAX_VALUE_BYTES / 3
                    && value.getBytes(StandardCharsets.UTF_8).length > MAX_VALUE_BYTES) {
                throw new IllegalArgumentException(
                        "value: " + value.length() + " characters, expected at most " + MAX_VALUE_BYTES + " bytes");
            }
        }
    }

    /**
     * Returns all entries of the fleet, in any order. The result sees every write that completed
     * before the call. What the store has under a key of the fleet and is no entry is returned with
     * an empty value, so that it is noticed and does not hide the entries.
     */
    CompletionStage<List<Entry>> read();

    /**
     * Writes an entry if it still has the expected version. Its version is then {@code
     * expectedVersion + 1}. The stage completes with {@code false} if the entry has another version
     * or does not exist. Nothing is changed then.
     *
     * <p>If the stage fails, the write may have been applied, or may be applied some seconds later.
     * To find out, read the entry. A value that contains a unique id of the write shows whose write
     * it was.
     *
     * @param key 1 to {@value #MAX_KEY_CHARS} characters
     * @param expectedVersion the version that the caller has read; 0 = the entry must not exist
     * @param value text of at most {@value #MAX_VALUE_BYTES} bytes in UTF-8
     * @throws IllegalArgumentException if an argument is out of range
     */
    CompletionStage<Boolean> write(String key, long expectedVersion, String value);

    /**
     * Removes an entry if it still has this version. The stage completes with {@code false} if the
     * entry has another version or does not exist. Nothing is changed then. If the stage fails, the
     * entry may have been removed, or may be removed some seconds later.
     *
     * <p>A removed key starts again with version 1. A dispatcher that still knows version 1 of the
     * removed entry could then overwrite the new one. So do not use a key again after its removal:
     * name entries that come and go by a unique id.
     *
     * @throws IllegalArgumentException if an argument is out of range
     */
    CompletionStage<Boolean> remove(String key, long version);

    /**
     * Releases connections and threads. May block for a few seconds. Stages of calls in flight
     * complete or fail. Stages of later calls fail. Further calls of this method have no effect.
     */
    @Override
    void close();

    /**
     * Returns a ledger for a dispatcher that is alone. It keeps its entries in memory, and stages
     * are complete when they are returned.
     */
    static Ledger inMemory() {
        return inMemory(new ConcurrentHashMap<>());
    }

    /**
     * Returns a ledger that keeps its entries in a map. Several dispatchers in one JVM form a fleet
     * if each has its own ledger over the same map. Closing a ledger leaves the map unchanged.
     *
     * @param entries the entries by key
     */
    static Ledger inMemory(ConcurrentMap<String, Entry> entries) {
        return new InMemoryLedger(entries);
    }
}
