package io.lambdadispatcher.core.internal.fleet;

import io.lambdadispatcher.core.spi.Ledger;
import io.lambdadispatcher.wire.worker.Hmac;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongSupplier;
import java.util.function.Supplier;

/**
 * A ledger whose values begin with an HMAC-SHA-256 of key, version and the rest. So whoever may
 * write the table, but does not know the secret of the fleet, cannot change what its dispatchers
 * do: what they have not written is no entry. Any thread.
 *
 * <p>An earlier entry cannot return under a later version, nor replace one that this dispatcher has
 * read. An entry that was removed begins again with version 1, so versions do not tell what is
 * earlier. Each value has a stamp for that, as in <i>Logical Physical Clocks</i> (S. Kulkarni and
 * others, OPODIS 2014): the time of its writer, or one more than the highest stamp that it has
 * seen.
 */
public final class SignedLedger implements Ledger {
    /** The names of functions follow another label, so no function's key is this one. */
    private static final byte[] LABEL = "ledger".getBytes(StandardCharsets.US_ASCII);

    /** 32 bytes in base64url without padding. */
    private static final int MAC_CHARS = 43;

    /** A stamp in hexadecimal. */
    private static final int STAMP_CHARS = 16;

    private static final int VALUE_BEGINS = MAC_CHARS + STAMP_CHARS;

    private final Ledger ledger;
    private final Supplier<List<byte[]>> secrets;
    private final LongSupplier millis;
    private final AtomicLong highestStamp = new AtomicLong();

    /** The highest stamp of each entry that the latest read has returned. */
    private volatile Map<String, Long> stamps = Map.of();

    /**
     * @param secrets the first one signs, and all are accepted
     * @param millis milliseconds since 1970-01-01
     */
    public SignedLedger(Ledger ledger, Supplier<List<byte[]>> secrets, LongSupplier millis) {
        this.ledger = ledger;
        this.secrets = secrets;
        this.millis = millis;
    }

    @Override
    public CompletionStage<List<Entry>> read() {
        // A read sees all that an earlier one has seen, but not what one sees that runs meanwhile.
        Map<String, Long> seen = stamps;
        return ledger.read().thenApply(entries -> opened(entries, seen));
    }

    private List<Entry> opened(List<Entry> entries, Map<String, Long> seen) {
        List<byte[]> macKeys = secrets.get().stream().map(SignedLedger::macKey).toList();
        Map<String, Long> next = new HashMap<>();
        List<Entry> opened = new ArrayList<>();
        for (Entry entry : entries) {
            String value = entry.value();
            long before = seen.getOrDefault(entry.key(), 0L);
            long stamp = isGenuine(entry, macKeys) ? HexFormat.fromHexDigitsToLong(value, MAC_CHARS, VALUE_BEGINS) : -1;
            highestStamp.accumulateAndGet(stamp, Math::max);
            next.put(entry.key(), Math.max(before, stamp));
            opened.add(new Entry(entry.key(), entry.version(), stamp >= before ? value.substring(VALUE_BEGINS) : ""));
        }
        stamps = next;
        return opened;
    }

    private static boolean isGenuine(Entry entry, List<byte[]> macKeys) {
        String value = entry.value();
        if (value.length() < VALUE_BEGINS) {
            return false;
        }
        byte[] given = value.substring(0, MAC_CHARS).getBytes(StandardCharsets.UTF_8);
        String signed = value.substring(MAC_CHARS);
        return macKeys.stream()
                .anyMatch(macKey -> MessageDigest.isEqual(
                        mac(macKey, entry.key(), entry.version(), signed).getBytes(StandardCharsets.US_ASCII), given));
    }

    @Override
    public CompletionStage<Boolean> write(String key, long expectedVersion, String value) {
        long stamp = highestStamp.updateAndGet(before -> Math.max(before + 1, millis.getAsLong()));
        String signed = HexFormat.of().toHexDigits(stamp) + value;
        return ledger.write(
                key, expectedVersion, mac(macKey(secrets.get().get(0)), key, expectedVersion + 1, signed) + signed);
    }

    private static byte[] macKey(byte[] secret) {
        return new Hmac(secret).update(LABEL).finish();
    }

    private static String mac(byte[] macKey, String key, long version, String signed) {
        byte[] text = (version + ":" + key.length() + ":" + key + signed).getBytes(StandardCharsets.UTF_8);
        return Base64.getUrlEncoder()
                .withoutPadding()
                .encodeToString(new Hmac(macKey).update(text).finish());
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
