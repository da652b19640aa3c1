package io.lambdadispatcher.shadow;

import java.util.Objects;

/**
 * Which requests are copied to another function. That function is an ordinary one: it launches
 * workers for copies, queues them and pays for them within its own limits. Immutable.
 *
 * @param function the name of another function of the dispatcher
 * @param share which part of the requests is copied, chosen at random: 0 (none) to 1 (all)
 * @param allMethods whether requests with methods that are not safe, such as POST, are copied, too.
 *     Such a copy can write twice. Safe methods are GET, HEAD, OPTIONS and TRACE (RFC 9110 section
 *     9.2.1). WebSockets are never copied
 * @param bufferBytes how large the body of a request may be, 0 to 64 MiB. It is kept until the
 *     function has answered. Requests with larger ones are not copied
 * @param maxRequests how many requests of one function may be copied at a time, 1 to 100,000
 */
public record ShadowPolicy(String function, double share, boolean allMethods, int bufferBytes, int maxRequests) {
    public ShadowPolicy {
        Objects.requireNonNull(function, "function");
        require(share >= 0 && share <= 1, "share " + share + ", expected 0 to 1");
        require(
                bufferBytes >= 0 && bufferBytes <= 64 << 20,
                "bufferBytes " + bufferBytes + ", expected 0 to " + (64 << 20));
        require(maxRequests >= 1 && maxRequests <= 100_000, "maxRequests " + maxRequests + ", expected 1 to 100000");
    }

    private static void require(boolean holds, String problem) {
        if (!holds) {
            throw new IllegalArgumentException(problem);
        }
    }

    /**
     * Returns a policy for requests with safe methods and bodies of at most 256 KiB, at most 100 at
     * a time.
     */
    public static ShadowPolicy of(String function, double share) {
        return new ShadowPolicy(function, share, false, 256 * 1024, 100);
    }

    public ShadowPolicy withAllMethods() {
        return new ShadowPolicy(function, share, true, bufferBytes, maxRequests);
    }

    public ShadowPolicy withBufferBytes(int bytes) {
        return new ShadowPolicy(function, share, allMethods, bytes, maxRequests);
    }

    public ShadowPolicy withMaxRequests(int requests) {
        return new ShadowPolicy(function, share, allMethods, bufferBytes, requests);
    }
}
