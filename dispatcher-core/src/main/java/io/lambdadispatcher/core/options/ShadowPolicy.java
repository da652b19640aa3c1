package io.lambdadispatcher.core.options;

import java.util.Objects;

/**
 * Which requests are copied to another function, to test it with real traffic. The client gets the
 * response of its own function and never waits for the copy, whose response is dropped. {@link
 * Builder} states units, defaults and ranges. Immutable.
 *
 * <p>The other function is an ordinary one. It launches workers for copies, queues them and pays
 * for them within its own limits. Its workers find the header {@link #HEADER} in each copy.
 */
public final class ShadowPolicy {
    /** No request is copied. */
    public static final ShadowPolicy NONE = new ShadowPolicy(new Builder("", 0));

    /**
     * Header of each copy, whose value is the name of the function that the request is for. Clients
     * cannot send it.
     */
    public static final String HEADER = "lambda-dispatcher-shadow";

    private final String function;
    private final double share;
    private final boolean allMethods;
    private final int bufferBytes;
    private final int maxRequests;

    private ShadowPolicy(Builder from) {
        function = from.function;
        share = from.share;
        allMethods = from.allMethods;
        bufferBytes = from.bufferBytes;
        maxRequests = from.maxRequests;
        Check.that(share >= 0 && share <= 1, "share", Double.toString(share), "0 to 1");
        Check.range("bufferBytes", bufferBytes, 0, 64 << 20);
        Check.range("maxRequests", maxRequests, 1, 100_000);
    }

    /**
     * Starts a policy that copies a tenth of the requests with safe methods.
     *
     * @param function the name of another function of the dispatcher. If there is no such function,
     *     no request is copied
     */
    public static Builder builder(String function) {
        return new Builder(function, 0.1);
    }

    /** Returns the name of the function that gets the copies; empty for {@link #NONE}. */
    public String function() {
        return function;
    }

    /** Returns the part of the requests that is copied. See {@link Builder#share}. */
    public double share() {
        return share;
    }

    /** Returns whether requests with any method are copied. See {@link Builder#allMethods}. */
    public boolean allMethods() {
        return allMethods;
    }

    /** Returns the maximum memory for the body of a copy. See {@link Builder#bufferBytes}. */
    public int bufferBytes() {
        return bufferBytes;
    }

    /** Returns the maximum number of copies in flight. See {@link Builder#maxRequests}. */
    public int maxRequests() {
        return maxRequests;
    }

    /** Returns whether no request is copied. */
    public boolean isOff() {
        return share == 0;
    }

    /**
     * Builds {@link ShadowPolicy}. Setters accept any value, and {@link #build} validates it. Not
     * thread-safe.
     */
    public static final class Builder {
        private final String function;
        private double share;
        private boolean allMethods;
        private int bufferBytes = 256 * 1024;
        private int maxRequests = 100;

        private Builder(String function, double share) {
            this.function = Objects.requireNonNull(function, "function");
            this.share = share;
        }

        /**
         * Sets which part of the requests is copied. They are chosen at random. Default: 0.1.
         *
         * @param part 0 (none) to 1 (all)
         */
        public Builder share(double part) {
            share = part;
            return this;
        }

        /**
         * Sets whether requests with methods that are not safe, such as POST, are copied, too. Such
         * a copy can write twice. Safe methods are GET, HEAD, OPTIONS and TRACE (RFC 9110 section
         * 9.2.1). WebSockets are never copied. Default: false.
         */
        public Builder allMethods(boolean all) {
            allMethods = all;
            return this;
        }

        /**
         * Sets how many bytes of a request's body are kept until the other function takes them. A
         * copy that lags further behind is cancelled. The client's request never waits for it.
         * Default: 256 KiB.
         *
         * @param bytes 0 to 64 MiB
         */
        public Builder bufferBytes(int bytes) {
            bufferBytes = bytes;
            return this;
        }

        /**
         * Sets the maximum number of copies in flight of one function. Further requests are not
         * copied. Default: 100.
         *
         * @param requests 1 to 100,000
         */
        public Builder maxRequests(int requests) {
            maxRequests = requests;
            return this;
        }

        /**
         * Returns the policy.
         *
         * @throws IllegalArgumentException if a value is out of its range
         */
        public ShadowPolicy build() {
            return new ShadowPolicy(this);
        }
    }
}
