package io.lambdadispatcher.core.internal.fleet;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.core.spi.Ledger;
import io.lambdadispatcher.core.spi.Ledger.Entry;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
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
}
