package io.lambdadispatcher.core.internal.fleet;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.core.spi.Ledger;
import io.lambdadispatcher.core.spi.Ledger.Entry;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;

class SignedLedgerTest {
    private static final byte[] OLD = "the old secret".getBytes(StandardCharsets.US_ASCII);
    private static final byte[] NEW = "the new secret".getBytes(StandardCharsets.US_ASCII);

    private final ConcurrentMap<String, Entry> stored = new ConcurrentHashMap<>();

    private SignedLedger ledger(byte[]... secrets) {
        return new SignedLedger(Ledger.inMemory(stored), () -> List.of(secrets));
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

        // Somebody removes the entry, as the documents say for one that cannot be read.
        stored.remove("function/f");
        assertThat(read(ledger)).isEmpty();
        assertThat(write(ledger, "function/f", 0, "{}")).isTrue();
        assertThat(read(ledger)).containsExactly(new Entry("function/f", 1, "{}"));
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
                () -> List.of(OLD));
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
