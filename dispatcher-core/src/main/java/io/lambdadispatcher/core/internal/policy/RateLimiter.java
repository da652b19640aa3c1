package io.lambdadispatcher.core.internal.policy;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Limits the rate of requests of each key with a token bucket. A bucket holds up to {@code burst}
 * tokens, gets one in each interval, and a request takes one. So in any period, a key gets at most
 * {@code burst} requests and one more for each interval of the period.
 *
 * <p><i>Event loops:</i> all loops share the buckets, so a limit holds exactly over all of them,
 * except for their clocks. A loop's clock shows when its current turn began. If turns are longer
 * than an interval, a key can get more requests, at most one for each interval of the longest turn.
 *
 * <p><i>Cost:</i> a look-up in a hash table under one of 16 locks, which is held only for that.
 * Requests of one key contend for one lock. {@code AdmissionBenchmark} measures it.
 *
 * <p><i>Memory:</i> a bucket is kept only while it is not full, because a full one says nothing. At
 * most {@value #MAX_KEYS} keys have a bucket of their own. Beyond that, new keys share one bucket
 * for each lock, so that a client that invents keys gains little and uses no memory. A key of more
 * than 64 characters is replaced by its digest.
 *
 * <p><i>Threading:</i> any thread.
 */
public final class RateLimiter {
    /** Maximum number of keys with a bucket of their own. */
    static final int MAX_KEYS = 16_384;

    private static final int STRIPES = 16;
    private static final int MAX_KEY_CHARS = 64;

    /** Buckets that a new key checks. More than one, so that full ones go faster than new ones. */
    private static final int LOOKS = 2;

    private final Stripe[] stripes = new Stripe[STRIPES];

    /** Creates a limiter whose buckets are full. */
    public RateLimiter() {
        this(MAX_KEYS);
    }

    RateLimiter(int maxKeys) {
        for (int i = 0; i < STRIPES; i++) {
            stripes[i] = new Stripe(maxKeys / STRIPES);
        }
    }

    /**
     * Takes a token for a request.
     *
     * @param key whose bucket it is; a text or another immutable value
     * @param intervalNanos the time in which the bucket gets a token, positive
     * @param burst the tokens that the bucket holds, positive; their intervals together are less
     *     than a century
     * @param nowNanos the time, of the same clock at each call
     * @return 0 if there was one; otherwise, the time until there is one, in nanoseconds
     */
    public long tryTake(Object key, long intervalNanos, int burst, long nowNanos) {
        Object kept = key instanceof CharSequence text && text.length() > MAX_KEY_CHARS ? digest(text) : key;
        int hash = kept.hashCode();
        return stripes[(hash ^ hash >>> 16) & STRIPES - 1].tryTake(kept, intervalNanos, burst, nowNanos);
    }

    private static String digest(CharSequence key) {
        try {
            byte[] bytes = key.toString().getBytes(StandardCharsets.UTF_8);
            return HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(bytes));
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("every Java runtime has SHA-256", e);
        }
    }

    /** Returns how many keys have a bucket of their own. */
    int keys() {
        int sum = 0;
        for (Stripe stripe : stripes) {
            sum += stripe.keys();
        }
        return sum;
    }

    private static final class Bucket {
        private long fullAtNanos;

        Bucket(long nowNanos) {
            fullAtNanos = nowNanos;
        }

        boolean isFull(long nowNanos) {
            return fullAtNanos - nowNanos <= 0;
        }

        long tryTake(long intervalNanos, int burst, long nowNanos) {
            // At most empty: the limit may have been lower when the last token was taken.
            long fullIfEmpty = nowNanos + intervalNanos * burst;
            fullAtNanos = fullAtNanos - fullIfEmpty > 0 ? fullIfEmpty : fullAtNanos;
            long after = (isFull(nowNanos) ? nowNanos : fullAtNanos) + intervalNanos;
            long missingNanos = after - nowNanos - intervalNanos * burst;
            if (missingNanos > 0) {
                return missingNanos;
            }
            fullAtNanos = after;
            return 0;
        }
    }

    private static final class Stripe {
        private final int maxKeys;

        /** Those that were looked at last are last. */
        @GuardedBy("this")
        private final Map<Object, Bucket> buckets = new LinkedHashMap<>();

        /** Of the keys that have none of their own; {@code null} until there was one. */
        @GuardedBy("this")
        private @Nullable Bucket others;

        Stripe(int maxKeys) {
            this.maxKeys = maxKeys;
        }

        synchronized long tryTake(Object key, long intervalNanos, int burst, long nowNanos) {
            Bucket bucket = buckets.get(key);
            return (bucket == null ? bucketOfNew(key, nowNanos) : bucket).tryTake(intervalNanos, burst, nowNanos);
        }

        @GuardedBy("this")
        private Bucket bucketOfNew(Object key, long nowNanos) {
            for (int i = 0; i < LOOKS; i++) {
                removeEldestIfFull(nowNanos);
            }
            if (buckets.size() >= maxKeys) {
                others = others == null ? new Bucket(nowNanos) : others;
                return others;
            }
            Bucket bucket = new Bucket(nowNanos);
            buckets.put(key, bucket);
            return bucket;
        }

        /** Looks at one bucket. If it is not full, it is looked at again after all others. */
        @GuardedBy("this")
        private void removeEldestIfFull(long nowNanos) {
            Iterator<Map.Entry<Object, Bucket>> eldest = buckets.entrySet().iterator();
            if (eldest.hasNext()) {
                Map.Entry<Object, Bucket> entry = eldest.next();
                Object key = entry.getKey();
                Bucket bucket = entry.getValue();
                eldest.remove();
                if (!bucket.isFull(nowNanos)) {
                    buckets.put(key, bucket);
                }
            }
        }

        synchronized int keys() {
            return buckets.size();
        }
    }
}
