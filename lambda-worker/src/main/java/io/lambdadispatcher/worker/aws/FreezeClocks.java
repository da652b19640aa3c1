package io.lambdadispatcher.worker.aws;

import java.util.concurrent.TimeUnit;

/** The time of day, which goes on while an environment is frozen, and the monotonic clock, which need not. Any thread. */
interface FreezeClocks {
    FreezeClocks SYSTEM = new FreezeClocks() {
        @Override
        public long wallMillis() {
            return System.currentTimeMillis();
        }

        @Override
        public long monotonicMillis() {
            return TimeUnit.NANOSECONDS.toMillis(System.nanoTime());
        }
    };

    long wallMillis();

    long monotonicMillis();
}
