package io.lambdadispatcher.test;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.lambdadispatcher.core.spi.Ledger;
import io.lambdadispatcher.core.spi.Ledger.Entry;
import io.lambdadispatcher.core.spi.LedgerException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Tests an implementation of {@link Ledger}. A subclass says how to open one, and inherits the
 * tests:
 *
 * <pre>{@code
 * class InMemoryLedgerTest extends LedgerContract {
 *     private final Map<String, ConcurrentMap<String, Ledger.Entry>> fleets = new HashMap<>();
 *
 *     @Override
 *     protected Ledger open(String fleet) {
 *         return Ledger.inMemory(fleets.computeIfAbsent(fleet, any -> new ConcurrentHashMap<>()));
 *     }
 * }
 * }</pre>
 */
@Timeout(120)
public abstract class LedgerContract {
    private static final int WAIT_SECONDS = 20;

    private final String fleet = UUID.randomUUID().toString();
    private final List<Ledger> opened = new ArrayList<>();

    /** Creates the test. */
    protected LedgerContract() {}

    /**
     * Opens a ledger. Ledgers of the same fleet share their entries. Every test uses a new name of
     * a fleet, which has no entries yet.
     */
    protected abstract Ledger open(String fleet);

    private Ledger ledger() {
        return ledger(fleet);
    }

    private Ledger ledger(String ofFleet) {
        Ledger ledger = open(ofFleet);
        opened.add(ledger);
        return ledger;
    }

    /** Closes the ledgers of a test. */
    @AfterEach
    public final void closeLedgers() {
        opened.forEach(Ledger::close);
    }

    private static <T> T await(CompletionStage<T> stage) throws Exception {
        return stage.toCompletableFuture().get(WAIT_SECONDS, TimeUnit.SECONDS);
    }

    private static boolean write(Ledger ledger, String key, long expectedVersion, String value) throws Exception {
        return await(ledger.write(key, expectedVersion, value));
    }

    /** Returns the entries by key, and checks that each key occurs once. */
    private static Map<String, Entry> read(Ledger ledger) throws Exception {
        Map<String, Entry> entries = new TreeMap<>();
        for (Entry entry : await(ledger.read())) {
            assertNull(entries.put(entry.key(), entry), () -> "a second entry " + entry.key());
        }
        return entries;
    }

    /** Returns 0 if there is no such entry. */
    private static long version(Ledger ledger, String key) throws Exception {
        Entry entry = read(ledger).get(key);
        return entry == null ? 0 : entry.version();
    }

    private static void assertOnly(Entry entry, Ledger ledger) throws Exception {
        assertEquals(Map.of(entry.key(), entry), read(ledger));
    }

    /** A new fleet has no entries. */
    @Test
    public void should_be_empty_at_first() throws Exception {
        assertEquals(Map.of(), read(ledger()));
    }

    /** Each write increases the version by 1. */
    @Test
    public void should_count_the_writes_of_an_entry() throws Exception {
        Ledger ledger = ledger();

        assertTrue(write(ledger, "a", 0, "1"));
        assertOnly(new Entry("a", 1, "1"), ledger);
        assertTrue(write(ledger, "a", 1, "2"));
        assertTrue(write(ledger, "a", 2, "2"));
        assertOnly(new Entry("a", 3, "2"), ledger);
    }

    /** A write with an old version, a later one or 0 has no effect on an entry. */
    @Test
    public void should_change_nothing_if_the_version_is_another() throws Exception {
        Ledger ledger = ledger();
        assertFalse(write(ledger, "a", 1, "1"));
        assertEquals(Map.of(), read(ledger));
        assertTrue(write(ledger, "a", 0, "1"));
        assertTrue(write(ledger, "a", 1, "2"));

        for (long version : new long[] {0, 1, 3}) {
            assertFalse(write(ledger, "a", version, "other"));
        }
        for (long version : new long[] {1, 3}) {
            assertFalse(await(ledger.remove("a", version)));
        }

        assertOnly(new Entry("a", 2, "2"), ledger);
    }

    /** The writer of a lost acknowledgement repeats its write, or reads what has happened. */
    @Test
    public void should_apply_a_repeated_write_only_once() throws Exception {
        Ledger ledger = ledger();
        assertTrue(write(ledger, "a", 0, "\"write 1\""));
        assertFalse(write(ledger, "a", 0, "\"write 1\""));
        assertOnly(new Entry("a", 1, "\"write 1\""), ledger);
        assertTrue(await(ledger.remove("a", 1)));
        assertFalse(await(ledger.remove("a", 1)));
    }

    /** A removed entry is not read any more. Its key starts again with version 1. */
    @Test
    public void should_remove_an_entry() throws Exception {
        Ledger ledger = ledger();
        assertFalse(await(ledger.remove("a", 1)));
        assertTrue(write(ledger, "a", 0, "1"));
        assertTrue(write(ledger, "a", 1, "2"));
        assertTrue(write(ledger, "b", 0, "3"));

        assertTrue(await(ledger.remove("a", 2)));

        assertOnly(new Entry("b", 1, "3"), ledger);
        assertFalse(write(ledger, "a", 2, "4"));
        assertTrue(write(ledger, "a", 0, "5"));
        assertEquals(new Entry("a", 1, "5"), read(ledger).get("a"));
    }

    /** Dispatchers write one entry concurrently until each has made its changes. */
    @Test
    public void should_let_exactly_one_of_concurrent_writers_win_each_version() throws Exception {
        int writers = 4;
        int changes = 8;
        ExecutorService threads = Executors.newFixedThreadPool(writers);
        try {
            List<Future<List<Long>>> won = new ArrayList<>();
            for (int i = 0; i < writers; i++) {
                Ledger own = ledger();
                String value = Integer.toString(i);
                won.add(threads.submit(() -> change(own, value, changes)));
            }
            Map<Long, Boolean> versions = new TreeMap<>();
            for (Future<List<Long>> each : won) {
                for (long version : each.get(60, TimeUnit.SECONDS)) {
                    assertNull(versions.put(version, true), () -> "version " + version + " was written twice");
                }
            }
            assertEquals(writers * changes, versions.size());
            assertEquals(versions.size(), version(ledger(), "a"));
        } finally {
            threads.shutdownNow();
        }
    }

    /** Returns the versions that it has written. */
    private static List<Long> change(Ledger ledger, String value, int changes) throws Exception {
        List<Long> won = new ArrayList<>();
        while (won.size() < changes) {
            long version = version(ledger, "a");
            if (write(ledger, "a", version, value)) {
                assertTrue(version(ledger, "a") > version, "the own write was not read");
                won.add(version + 1);
            }
        }
        return won;
    }

    /** Of concurrent removals and writes of one version, exactly one succeeds. */
    @Test
    public void should_either_remove_or_write_a_version() throws Exception {
        Ledger ledger = ledger();
        for (int i = 0; i < 20; i++) {
            String key = "a" + i;
            assertTrue(write(ledger, key, 0, "1"));

            CompletionStage<Boolean> removal = ledger.remove(key, 1);
            CompletionStage<Boolean> write = ledger.write(key, 1, "2");

            boolean removed = await(removal);
            assertEquals(!removed, await(write));
            assertEquals(removed ? null : new Entry(key, 2, "2"), read(ledger).get(key));
        }
    }

    /** A store may answer in pages, for example of 1 MiB. */
    @Test
    public void should_read_many_entries() throws Exception {
        Ledger ledger = ledger();
        String padding = "x".repeat(60_000);
        List<CompletableFuture<Boolean>> writes = new ArrayList<>();
        Map<String, Entry> expected = new TreeMap<>();
        for (int i = 0; i < 60; i++) {
            Entry entry = new Entry("worker/" + i, 1, "{\"padding\": \"" + padding + i + "\"}");
            expected.put(entry.key(), entry);
            writes.add(ledger.write(entry.key(), 0, entry.value()).toCompletableFuture());
        }
        for (CompletableFuture<Boolean> write : writes) {
            assertTrue(await(write));
        }

        assertEquals(expected, read(ledger()));
    }

    /** The limits are those of {@link Ledger}. Three bytes are the most that a character has. */
    @Test
    public void should_keep_the_largest_entry() throws Exception {
        Ledger ledger = ledger();
        String key = "鍵".repeat(Ledger.MAX_KEY_CHARS);
        String value = "\"" + "値".repeat(Ledger.MAX_VALUE_BYTES / 3 - 1) + "x\"";

        assertTrue(write(ledger, key, 0, value));
        assertOnly(new Entry(key, 1, value), ledger);
        assertTrue(await(ledger.remove(key, 1)));
    }

    /** Keys and values may have any characters. Keys that differ only a little are different. */
    @Test
    public void should_keep_every_character() throws Exception {
        Ledger ledger = ledger();
        Map<String, Entry> expected = new TreeMap<>();
        for (String key : List.of("a", "A", " a", "a ", "/a?b=c#d", "#a", ":a", "\"'\\\n\t", "ä", "a\u0308", "😀")) {
            Entry entry = new Entry(key, 1, "{\"" + key.length() + "\": \"\\\"é😀\u0001\r\n\"}");
            expected.put(key, entry);
            assertTrue(write(ledger, key, 0, entry.value()));
        }

        assertEquals(expected, read(ledger));
    }

    /** Wrong arguments are errors of the caller, so they are thrown immediately. */
    @Test
    public void should_refuse_wrong_arguments() throws Exception {
        Ledger ledger = ledger();
        for (String key : List.of("", "k".repeat(Ledger.MAX_KEY_CHARS + 1), "\ud83d")) {
            assertThrows(IllegalArgumentException.class, () -> ledger.write(key, 0, "1"));
            assertThrows(IllegalArgumentException.class, () -> ledger.remove(key, 1));
        }
        assertThrows(IllegalArgumentException.class, () -> ledger.write("a", -1, "1"));
        assertThrows(IllegalArgumentException.class, () -> ledger.remove("a", 0));
        String large = "x".repeat(Ledger.MAX_VALUE_BYTES + 1);
        assertThrows(IllegalArgumentException.class, () -> ledger.write("a", 0, large));
        String wide = "é".repeat(Ledger.MAX_VALUE_BYTES / 2 + 1);
        assertThrows(IllegalArgumentException.class, () -> ledger.write("a", 0, wide));
        assertEquals(Map.of(), read(ledger));
    }

    /** Ledgers of one fleet see the writes of each other, and nothing of other fleets. */
    @Test
    public void should_share_entries_only_within_the_fleet() throws Exception {
        Ledger ledger = ledger();
        Ledger other = ledger(fleet + "2");
        assertTrue(write(ledger, "a", 0, "1"));
        assertTrue(write(other, "a", 0, "2"));

        assertOnly(new Entry("a", 1, "1"), ledger());
        assertOnly(new Entry("a", 1, "2"), other);
    }

    /** Closing one ledger leaves the others of the fleet and the entries unchanged. */
    @Test
    public void should_fail_after_it_was_closed() throws Exception {
        Ledger ledger = ledger();
        Ledger other = ledger();
        assertTrue(write(ledger, "a", 0, "1"));

        ledger.close();
        ledger.close();

        assertClosed(ledger.read());
        assertClosed(ledger.write("a", 1, "2"));
        assertClosed(ledger.remove("a", 1));
        assertOnly(new Entry("a", 1, "1"), other);
    }

    private static void assertClosed(CompletionStage<?> stage) {
        ExecutionException failed = assertThrows(ExecutionException.class, () -> await(stage));
        assertInstanceOf(LedgerException.class, failed.getCause());
    }

    /** Calls that are in flight when the ledger is closed complete or fail, and soon. */
    @Test
    public void should_end_calls_in_flight_when_it_is_closed() throws Exception {
        Ledger ledger = ledger();
        List<CompletionStage<?>> calls = new ArrayList<>();
        for (int i = 0; i < 10; i++) {
            calls.add(ledger.write("a" + i, 0, "1"));
            calls.add(ledger.read());
        }

        ledger.close();

        for (CompletionStage<?> call : calls) {
            await(call.handle((result, error) -> true));
        }
    }
}
