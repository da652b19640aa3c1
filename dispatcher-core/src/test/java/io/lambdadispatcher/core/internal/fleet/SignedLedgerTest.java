package io.lambdadispatcher.core.internal.fleet;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.core.spi.Ledger;
import io.lambdadispatcher.core.spi.Ledger.Entry;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.RepetitionInfo;
import org.junit.jupiter.api.Test;

class SignedLedgerTest {
    private static final byte[] OLD = "the old secret".getBytes(StandardCharsets.US_ASCII);
    private static final byte[] NEW = "the new secret".getBytes(StandardCharsets.US_ASCII);

    private final ConcurrentMap<String, Entry> stored = new ConcurrentHashMap<>();

    private SignedLedger ledger(byte[]... secrets) {
        return new SignedLedger(Ledger.inMemory(stored), () -> List.of(secrets), System::currentTimeMillis);
    }

    private static boolean write(Ledger ledger, String key, long expected, String value) {
        return ledger.write(key, expected, value).toCompletableFuture().join();
    }

    private static List<Entry> read(Ledger ledger) {
        return ledger.read().toCompletableFuture().join();
    }

    @Test
    void should_read_what_it_has_written() {
        SignedLedger ledger = ledger(OLD);
        assertThat(write(ledger, "function/Größe", 0, "{\"a\": \"ü\"}")).isTrue();
        assertThat(write(ledger, "function/Größe", 0, "{}")).isFalse();
        assertThat(read(ledger)).containsExactly(new Entry("function/Größe", 1, "{\"a\": \"ü\"}"));
        assertThat(write(ledger, "function/Größe", 1, "{}")).isTrue();
        assertThat(read(ledger)).containsExactly(new Entry("function/Größe", 2, "{}"));
        assertThat(ledger.remove("function/Größe", 2).toCompletableFuture().join())
                .isTrue();
        assertThat(read(ledger)).isEmpty();
    }

    @Test
    void should_take_nothing_for_an_entry_that_no_dispatcher_has_written() {
        SignedLedger ledger = ledger(OLD);
        write(ledger, "member/a", 0, "{\"addresses\": [\"10.0.0.7:8444\"]}");
        Entry good = stored.get("member/a");
        for (int i = 0; i < good.value().length(); i++) {
            char other = good.value().charAt(i) == 'A' ? 'B' : 'A';
            put(
                    "member/a",
                    1,
                    good.value().substring(0, i) + other + good.value().substring(i + 1));
            put("member/a", 1, good.value().substring(0, i));
        }
        put("member/a", 1, good.value() + " ");
        put("member/b", 1, good.value());
        stored.remove("member/b");
        // An entry of the past.
        put("member/a", 2, good.value());
        put("member/a", 1, "{}");
        stored.put("member/a", good);
        assertThat(read(ledger(NEW))).containsExactly(new Entry("member/a", 1, ""));
        assertThat(read(ledger).get(0).value()).startsWith("{");
    }

    /** The key and the version stay, so that dispatchers notice it. */
    private void put(String key, long version, String value) {
        stored.put(key, new Entry(key, version, value));
        assertThat(read(ledger(OLD))).contains(new Entry(key, version, ""));
    }

    @Test
    void should_read_entries_of_all_secrets_while_one_is_replaced() {
        write(ledger(OLD), "a", 0, "{}");
        write(ledger(NEW, OLD), "b", 0, "{}");
        assertThat(read(ledger(OLD, NEW))).containsOnly(new Entry("a", 1, "{}"), new Entry("b", 1, "{}"));
        assertThat(read(ledger(NEW))).containsOnly(new Entry("a", 1, ""), new Entry("b", 1, "{}"));
    }

    /** It would take back the kill switch, for example, or what was spent. */
    @Test
    void should_not_take_an_earlier_version_for_the_entry_that_it_has_read() {
        SignedLedger ledger = ledger(OLD);
        write(ledger, "function/f", 0, "{\"launching\": true}");
        Entry first = stored.get("function/f");
        write(ledger, "function/f", 1, "{\"launching\": false}");
        Entry second = stored.get("function/f");
        assertThat(read(ledger)).containsExactly(new Entry("function/f", 2, "{\"launching\": false}"));

        stored.put("function/f", first);
        for (int i = 0; i < 3; i++) {
            assertThat(read(ledger)).containsExactly(new Entry("function/f", 1, ""));
        }
        stored.put("function/f", second);
        assertThat(read(ledger)).containsExactly(new Entry("function/f", 2, "{\"launching\": false}"));
    }

    /**
     * An operator removes an entry, for example, and a dispatcher writes it again before another
     * one has missed it. That one must not ignore the new entry until it has as many versions as
     * before.
     */
    @Test
    void should_accept_an_entry_that_begins_again_although_it_has_seen_later_versions() {
        SignedLedger writer = ledger(OLD);
        SignedLedger reader = ledger(OLD);
        for (int version = 0; version < 5; version++) {
            write(writer, "function/f", version, "{}");
        }
        assertThat(read(reader)).containsExactly(new Entry("function/f", 5, "{}"));
        Entry last = stored.get("function/f");

        stored.remove("function/f");
        assertThat(write(writer, "function/f", 0, "{\"again\": true}")).isTrue();
        assertThat(read(reader)).containsExactly(new Entry("function/f", 1, "{\"again\": true}"));
        stored.put("function/f", last);
        assertThat(read(reader)).containsExactly(new Entry("function/f", 5, ""));
    }

    /**
     * Dispatchers whose clocks differ write and remove entries, and somebody puts earlier entries
     * and forged ones in their place. The model is the number of the write from which an entry is.
     */
    @RepeatedTest(300)
    void should_read_the_latest_entry_and_never_an_earlier_one(RepetitionInfo repetition) {
        Random random = new Random(repetition.getCurrentRepetition());
        List<String> keys = List.of("a", "b");
        long[] now = {1_000_000};
        List<SignedLedger> dispatchers = new ArrayList<>();
        List<Map<String, Integer>> seen = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            long ahead = random.nextInt(1000);
            dispatchers.add(new SignedLedger(Ledger.inMemory(stored), () -> List.of(OLD), () -> now[0] + ahead));
            seen.add(new HashMap<>());
        }
        List<Entry> written = new ArrayList<>();
        Map<String, Integer> latest = new HashMap<>();
        for (int step = 0; step < 200; step++) {
            now[0] += random.nextInt(10);
            int each = random.nextInt(3);
            SignedLedger dispatcher = dispatchers.get(each);
            String key = keys.get(random.nextInt(2));
            switch (random.nextInt(6)) {
                case 0 -> {
                    // Removals are rare, so clocks differ less than the time since the last write.
                    now[0] += 1000;
                    stored.remove(key);
                    latest.remove(key);
                }
                case 1 -> {
                    if (!written.isEmpty()) {
                        Entry earlier = written.get(random.nextInt(written.size()));
                        stored.put(earlier.key(), earlier);
                    }
                }
                case 2 -> {
                    if (latest.containsKey(key)) {
                        stored.put(
                                key,
                                new Entry(
                                        key,
                                        random.nextInt(9) + 1,
                                        written.get(latest.get(key)).value() + " "));
                    }
                }
                default -> {
                    // Puts the genuine entries back.
                    keys.forEach(stored::remove);
                    latest.forEach((k, number) -> stored.put(k, written.get(number)));
                    check(read(dispatcher), seen.get(each), written, latest);
                    if (random.nextBoolean()) {
                        Integer before = latest.get(key);
                        long version = before == null ? 0 : written.get(before).version();
                        assertThat(write(dispatcher, key, version, "number " + written.size()))
                                .isTrue();
                        latest.put(key, written.size());
                        written.add(stored.get(key));
                    }
                }
            }
            int other = random.nextInt(3);
            check(read(dispatchers.get(other)), seen.get(other), written, latest);
        }
        assertThat(written).hasSizeGreaterThan(20);
    }

    private void check(List<Entry> read, Map<String, Integer> seen, List<Entry> written, Map<String, Integer> latest) {
        seen.keySet().retainAll(stored.keySet());
        assertThat(read).hasSameSizeAs(stored.values());
        for (Entry entry : read) {
            int number = entry.value().isEmpty()
                    ? -1
                    : Integer.parseInt(entry.value().replace("number ", ""));
            Integer last = latest.get(entry.key());
            if (last != null && stored.get(entry.key()).equals(written.get(last))) {
                assertThat(number).isEqualTo(last);
            } else if (number >= 0) {
                assertThat(number).isGreaterThanOrEqualTo(seen.getOrDefault(entry.key(), 0));
                assertThat(stored).containsEntry(entry.key(), written.get(number));
            }
            seen.merge(entry.key(), number, Math::max);
        }
    }

    /** The answer to the read that began first may arrive last. */
    @Test
    void should_accept_an_earlier_version_from_a_read_that_began_before_a_write() {
        CompletableFuture<List<Entry>> late = new CompletableFuture<>();
        Ledger store = Ledger.inMemory(stored);
        AtomicBoolean delayed = new AtomicBoolean();
        SignedLedger ledger = new SignedLedger(
                new Ledger() {
                    @Override
                    public CompletionStage<List<Entry>> read() {
                        return delayed.get() ? late : store.read();
                    }

                    @Override
                    public CompletionStage<Boolean> write(String key, long expectedVersion, String value) {
                        return store.write(key, expectedVersion, value);
                    }

                    @Override
                    public CompletionStage<Boolean> remove(String key, long version) {
                        return store.remove(key, version);
                    }

                    @Override
                    public void close() {}
                },
                () -> List.of(OLD),
                System::currentTimeMillis);
        write(ledger, "a", 0, "{}");
        delayed.set(true);
        CompletionStage<List<Entry>> first = ledger.read();
        List<Entry> answer = List.copyOf(stored.values());
        delayed.set(false);
        write(ledger, "a", 1, "{}");
        assertThat(read(ledger)).containsExactly(new Entry("a", 2, "{}"));
        late.complete(answer);
        assertThat(first.toCompletableFuture().join()).containsExactly(new Entry("a", 1, "{}"));
    }
}
