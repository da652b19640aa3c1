package io.lambdadispatcher.cache;

import io.lambdadispatcher.core.spi.HeaderFields;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * A complete response, and what it says about its use. Immutable, so any thread can use it.
 *
 * <p>The body is on the heap. Clients that still read it when it is evicted keep it, and nobody has
 * to release it.
 *
 * @param terms what the response's headers permit
 * @param head headers, which nobody changes after they are stored
 * @param body must not be changed
 * @param bytes memory of this object, as an estimate
 */
record StoredResponse(Terms terms, int status, HeaderFields head, byte[] body, long bytes) {
    /** Memory of a header's objects, in bytes. */
    private static final int FIELD_BYTES = 96;

    private static final int OBJECT_BYTES = 512;
    private static final long DATE_NANOS = TimeUnit.SECONDS.toNanos(1);

    StoredResponse(Terms terms, int status, HeaderFields head, byte[] body) {
        this(terms, status, head, body, bytesOf(terms, head, body));
    }

    /**
     * What the headers of a response permit.
     *
     * @param partition the partition of its request
     * @param varyNames names in {@code vary}, in lower case and with {@code -} for all marks
     * @param varyValues the values of its request, as {@link CacheRequest#value} returns them
     * @param toAuthorized whether it may answer requests with {@code authorization}
     * @param toCookies whether it may answer requests with a {@code cookie}
     * @param sentNanos time at which its request was sent, by the clock of event loops
     * @param bornNanos time at which its age was zero, by the clock of event loops
     * @param freshNanos age up to which it is fresh
     * @param revalidateNanos age up to which it answers while it is renewed
     * @param errorNanos age up to which it replaces an error
     */
    record Terms(
            String partition,
            List<String> varyNames,
            List<@Nullable String> varyValues,
            boolean toAuthorized,
            boolean toCookies,
            long sentNanos,
            long bornNanos,
            long freshNanos,
            long revalidateNanos,
            long errorNanos) {

        /** Returns whether the request chooses this response (RFC 9111 section 4.1). */
        boolean isChosenBy(CacheRequest request) {
            if (!partition.equals(request.partition())) {
                return false;
            }
            for (int i = 0; i < varyNames.size(); i++) {
                if (!Objects.equals(varyValues.get(i), request.value(varyNames.get(i)))) {
                    return false;
                }
            }
            return true;
        }

        /** Returns the age at which the response is of no use any more. */
        long usefulNanos() {
            return Math.max(freshNanos, Math.max(revalidateNanos, errorNanos));
        }

        /**
         * Returns whether this response is the more recent one. Dates have whole seconds, so the
         * order of the requests decides about less.
         */
        boolean isNewerThan(Terms other) {
            long later = bornNanos - other.bornNanos;
            return Math.abs(later) < DATE_NANOS ? sentNanos - other.sentNanos > 0 : later > 0;
        }
    }

    long ageNanos(long nowNanos) {
        return nowNanos - terms.bornNanos();
    }

    private static long bytesOf(Terms terms, HeaderFields head, byte[] body) {
        long[] bytes = {OBJECT_BYTES + body.length + 2L * terms.partition().length()};
        // The bytes of a value, and its text, which its first reader leaves behind.
        head.forEach((name, value) -> bytes[0] += FIELD_BYTES + name.length() + 2L * value.length());
        for (String value : terms.varyValues()) {
            bytes[0] += FIELD_BYTES + (value == null ? 0 : value.length());
        }
        return bytes[0];
    }
}
