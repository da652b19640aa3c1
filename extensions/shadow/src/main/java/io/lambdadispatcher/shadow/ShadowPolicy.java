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
 */
public record ShadowPolicy(String function, double share, boolean allMethods) {
    public ShadowPolicy {
        Objects.requireNonNull(function, "function");
        if (!(share >= 0 && share <= 1)) {
            throw new IllegalArgumentException("share " + share + ", expected 0 to 1");
        }
    }

    /** Returns a policy for requests with safe methods. */
    public static ShadowPolicy of(String function, double share) {
        return new ShadowPolicy(function, share, false);
    }

    public ShadowPolicy withAllMethods() {
        return new ShadowPolicy(function, share, true);
    }
}
