package io.lambdadispatcher.worker.internal.transport;

/**
 * The two clocks by which a connection's age is told. Lambda freezes an environment between
 * invocations: the time of day continues, and the monotonic clock need not. Any thread.
 */
public interface FreezeClocks {
    FreezeClocks SYSTEM = new FreezeClocks() {
        @Override
        public long wallMillis() {
            return System.currentTimeMillis();
        }

        @Override
        public long nanos() {
            return System.nanoTime();
        }
    };

    long wallMillis();

    /** Returns the monotonic clock. */
    long nanos();
}
