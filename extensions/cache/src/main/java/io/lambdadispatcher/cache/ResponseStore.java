package io.lambdadispatcher.cache;

import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import com.github.benmanes.caffeine.cache.Expiry;
import io.lambdadispatcher.cache.CacheRules.Fit;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.atomic.AtomicIntegerArray;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * The stored responses of all functions and event loops, and the requests in flight whose responses
 * may be stored. Any thread.
 *
 * <p>Caffeine bounds the memory and decides what is evicted. Its work is done by the threads that
 * use it, so it needs no other threads.
 */
final class ResponseStore {
    /** Responses with different values of {@code vary} that are kept for one target. */
    private static final int MAX_VARIANTS = 16;

    private static final int STRIPES = 1024;

    /** For this time, requests do not wait for a response that was not stored last time. */
    private static final Duration UNSHARED_TIME = Duration.ofSeconds(10);

    /**
     * Maximum memory of the keys of these requests. Clients choose the keys, and one key can have
     * 64 KiB, so a maximum number would not bound the memory.
     */
    private static final int MAX_UNSHARED_BYTES = 1 << 20;

    /** Memory of an entry without the characters of its key, as an estimate. */
    private static final int ENTRY_BYTES = 64;

    private final LongSupplier nanos;
    private final LongSupplier millis;
    private final long maxBytes;
    private final Cache<String, List<StoredResponse>> responses;
    private final Cache<String, Boolean> unshared;
    private final ConcurrentMap<String, Flight> flights = new ConcurrentHashMap<>();

    /** Changes when responses become invalid, so that a response on its way is not stored. */
    private final AtomicIntegerArray generations = new AtomicIntegerArray(STRIPES);

    private final LongAdder evictions = new LongAdder();

    /**
     * @param nanos the clock of event loops
     * @param millis time since 1970
     */
    ResponseStore(long maxBytes, LongSupplier nanos, LongSupplier millis) {
        this.maxBytes = maxBytes;
        this.nanos = nanos;
        this.millis = millis;
        responses = Caffeine.newBuilder()
                .maximumWeight(maxBytes)
                .weigher(ResponseStore::weight)
                .expireAfter(Expiry.<String, List<StoredResponse>>writing((key, all) -> usefulTime(all)))
                .ticker(nanos::getAsLong)
                .executor(Runnable::run)
                .evictionListener((key, all, cause) -> evictions.increment())
                .build();
        unshared = Caffeine.newBuilder()
                .maximumWeight(MAX_UNSHARED_BYTES)
                .weigher((String key, Boolean value) -> ENTRY_BYTES + key.length())
                .expireAfterWrite(UNSHARED_TIME)
                .ticker(nanos::getAsLong)
                .executor(Runnable::run)
                .build();
    }

    private static int weight(String key, List<StoredResponse> all) {
        long bytes = 2L * key.length();
        for (StoredResponse each : all) {
            bytes += each.bytes();
        }
        return (int) Math.min(Integer.MAX_VALUE, bytes);
    }

    private Duration usefulTime(List<StoredResponse> all) {
        long now = nanoTime();
        long longest = 0;
        for (StoredResponse each : all) {
            longest = Math.max(longest, each.terms().usefulNanos() - each.ageNanos(now));
        }
        return Duration.ofNanos(longest);
    }

    long nanoTime() {
        return nanos.getAsLong();
    }

    long currentTimeMillis() {
        return millis.getAsLong();
    }

    /** Returns the newest response that can do something for the request. */
    @Nullable
    StoredResponse find(CacheRequest request, long nowNanos) {
        List<StoredResponse> all = responses.getIfPresent(request.key());
        if (all != null) {
            for (StoredResponse each : all) {
                if (CacheRules.fit(each.terms(), request, nowNanos) != Fit.NONE) {
                    return each;
                }
            }
        }
        return null;
    }

    /** Returns what {@link #put} needs, from before the request is sent. */
    int generation(String key) {
        return generations.get(stripe(key));
    }

    /**
     * Stores a response, unless stored responses have become invalid since its request was sent, or
     * a more recent one answers the request (RFC 9111 section 4). Older ones that would answer it
     * are forgotten, whatever headers they vary by. Otherwise, they would answer again when this
     * one has become useless.
     *
     * @return whether it may answer requests
     */
    boolean put(CacheRequest request, StoredResponse response, int generation) {
        String key = request.key();
        if (generation(key) != generation) {
            return false;
        }
        long now = nanoTime();
        responses.asMap().compute(key, (same, before) -> {
            // Again, because only from here on does whoever invalidates the key wait for this.
            if (generation(key) != generation) {
                return before;
            }
            List<StoredResponse> all = new ArrayList<>();
            all.add(response);
            if (before != null) {
                for (StoredResponse each : before) {
                    boolean useful = each.ageNanos(now) < each.terms().usefulNanos();
                    boolean other = !each.terms().isChosenBy(request);
                    if (useful && !other && each.terms().isNewerThan(response.terms())) {
                        return before;
                    }
                    if (useful && other && all.size() < MAX_VARIANTS) {
                        all.add(each);
                    }
                }
            }
            return List.copyOf(all);
        });
        if (generation(key) != generation) {
            responses.invalidate(key);
            return false;
        }
        return true;
    }

    /** Forgets the responses of a target that a request has changed (RFC 9111 section 4.4). */
    void invalidate(String key) {
        generations.incrementAndGet(stripe(key));
        responses.invalidate(key);
    }

    /** Forgets all responses. */
    void clear() {
        for (int i = 0; i < STRIPES; i++) {
            generations.incrementAndGet(i);
        }
        responses.invalidateAll();
    }

    private static int stripe(String key) {
        int hash = key.hashCode();
        return (hash ^ hash >>> 16) & STRIPES - 1;
    }

    // Requests in flight.

    /**
     * Returns what identical requests have in common: the target, the partition, whether they have
     * credentials, and the headers by which the last response varied.
     */
    String flightKey(CacheRequest request) {
        StringBuilder key = new StringBuilder(request.key())
                .append(request.hasAuthorization() ? " a" : " -")
                .append(request.hasCookie() ? "c " : "- ")
                .append(request.partition());
        List<StoredResponse> all = responses.getIfPresent(request.key());
        if (all != null && !all.isEmpty()) {
            for (String name : all.get(0).terms().varyNames()) {
                key.append('\n').append(name).append('=').append(request.value(name));
            }
        }
        return key.toString();
    }

    /**
     * Returns the flight that a request joins. It must not wait for one that began before stored
     * responses became invalid, because that one may bring what the function no longer says.
     *
     * @return {@code own} if there is no other; {@link Flight#land} must follow
     */
    Flight board(String flightKey, Flight own) {
        return flights.compute(
                flightKey, (key, other) -> other == null || other.generation() != own.generation() ? own : other);
    }

    void leave(String flightKey, Flight own) {
        flights.remove(flightKey, own);
    }

    boolean isUnshared(String flightKey) {
        return unshared.getIfPresent(flightKey) != null;
    }

    /** The response was not for others. The next requests do not wait for each other. */
    void setUnshared(String flightKey) {
        unshared.put(flightKey, true);
    }

    // For metrics.

    /** Returns the memory of stored responses in bytes, as an estimate. */
    long bytes() {
        return responses
                .policy()
                .eviction()
                .map(eviction -> eviction.weightedSize().orElse(0))
                .orElse(0L);
    }

    long maxBytes() {
        return maxBytes;
    }

    /** Returns how many targets were evicted, because memory was needed or they were too old. */
    long evictions() {
        return evictions.sum();
    }

    /** Returns the number of requests in flight that others may wait for. */
    int flights() {
        return flights.size();
    }
}
