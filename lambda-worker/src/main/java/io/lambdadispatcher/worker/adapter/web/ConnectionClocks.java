package io.lambdadispatcher.worker.adapter.web;

/**
 * The two clocks that a connection's age is told by. Lambda freezes an environment between invocations: by one of them the connection may
 * have slept for no time at all.
 */
interface ConnectionClocks {
    ConnectionClocks SYSTEM = new ConnectionClocks() {
        @Override
        public long nanos() {
            return System.nanoTime();
        }

        @Override
        public long wallMillis() {
            return System.currentTimeMillis();
        }
    };

    long nanos();

    long wallMillis();
}
