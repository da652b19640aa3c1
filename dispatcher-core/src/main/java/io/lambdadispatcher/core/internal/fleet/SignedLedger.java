package io.lambdadispatcher.core.internal.fleet;

import io.lambdadispatcher.core.spi.Ledger;
import io.lambdadispatcher.wire.worker.Hmac;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.util.Base64;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletionStage;
import java.util.function.Supplier;

/**
 * A ledger whose values begin with an HMAC-SHA-256 of key, version and value. So whoever may write
 * the table, but does not know the secret of the fleet, cannot change what its dispatchers do: what
 * they have not written is no entry. An earlier entry cannot return under a later version, nor
 * replace one that this dispatcher has read. Any thread.
 */
public final class SignedLedger implements Ledger {
    /** The names of functions follow another label, so no function's key is this one. */
    private static final byte[] LABEL = "ledger".getBytes(StandardCharsets.US_ASCII);

    /** 32 bytes in base64url without padding. */
    private static final int MAC_CHARS = 43;

    private final Ledger ledger;
    private final Supplier<List<byte[]>> secrets;

    /** The latest genuine version of each entry that the latest read has returned. */
    private volatile Map<String, Long> versions = Map.of();

    /** @param secrets the first one signs, and all are accepted */
    public SignedLedger(Ledger ledger, Supplier<List<byte[]>> secrets) {
        this.ledger = ledger;
        this.secrets = secrets;
    }

    @Override
    public CompletionStage<List<Entry>> read() {
        // A read sees all that an earlier one has seen, but not what one sees that runs meanwhile.
        Map<String, Long> seen = versions;
        return ledger.read().thenApply(entries -> {
            List<byte[]> keys = secrets.get().stream().map(SignedLedger::key).toList();
            List<Entry> opened =
                    entries.stream().map(entry -> opened(entry, keys, seen)).toList();
            Map<String, Long> next = new HashMap<>();
            for (Entry entry : opened) {
                long before = seen.getOrDefault(entry.key(), 0L);
                next.put(entry.key(), entry.value().isEmpty() ? before : entry.version());
            }
            versions = next;
            return opened;
        });
    }

    private static Entry opened(Entry entry, List<byte[]> keys, Map<String, Long> seen) {
        String value = entry.value();
        String content = value.length() < MAC_CHARS ? "" : value.substring(MAC_CHARS);
        byte[] given = value.substring(0, value.length() - content.length()).getBytes(StandardCharsets.UTF_8);
        boolean replayed = entry.version() < seen.getOrDefault(entry.key(), 0L);
        boolean genuine = !replayed
                && keys.stream()
                        .anyMatch(key -> MessageDigest.isEqual(
                                mac(key, entry.key(), entry.version(), content).getBytes(StandardCharsets.US_ASCII),
                                given));
        return new Entry(entry.key(), entry.version(), genuine ? content : "");
    }

    @Override
    public CompletionStage<Boolean> write(String key, long expectedVersion, String value) {
        String mac = mac(key(secrets.get().get(0)), key, expectedVersion + 1, value);
        return ledger.write(key, expectedVersion, mac + value);
    }

    private static byte[] key(byte[] secret) {
        return new Hmac(secret).update(LABEL).finish();
    }

    private static String mac(byte[] macKey, String key, long version, String value) {
        byte[] signed = (version + ":" + key.length() + ":" + key + value).getBytes(StandardCharsets.UTF_8);
        return Base64.getUrlEncoder()
                .withoutPadding()
                .encodeToString(new Hmac(macKey).update(signed).finish());
    }

    @Override
    public CompletionStage<Boolean> remove(String key, long version) {
        return ledger.remove(key, version);
    }

    @Override
    public void close() {
        ledger.close();
    }
}
