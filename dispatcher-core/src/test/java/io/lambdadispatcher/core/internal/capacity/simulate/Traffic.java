package io.lambdadispatcher.core.internal.capacity.simulate;

import io.lambdadispatcher.core.internal.capacity.simulate.Path.Caller;
import java.util.function.DoubleUnaryOperator;
import java.util.random.RandomGenerator;

/** A source of requests. */
interface Traffic {
    /** Starts to send requests now. */
    void start(EventQueue time, Path path, RandomGenerator random);

    /** Returns whether all requests were sent and answered. Always false for an open loop. */
    default boolean isOver() {
        return false;
    }

    /**
     * A closed loop: a load tool with a fixed number of clients. Each client sends its next request
     * when it has received the previous response, until it has sent its share. After a failure it
     * pauses, so that virtual time advances even if the queue is full.
     */
    final class Closed implements Traffic {
        private static final long PAUSE_NANOS = 100_000_000;

        private final int clients;
        private final long requests;
        private final long untilNanos;
        private int atWork;

        /** @param requests total number of requests; 0 = as many as fit in the time */
        Closed(int clients, long requests, long untilNanos) {
            this.clients = clients;
            this.requests = requests == 0 ? Long.MAX_VALUE : requests;
            this.untilNanos = untilNanos;
        }

        @Override
        public void start(EventQueue time, Path path, RandomGenerator random) {
            atWork = clients;
            for (int i = 0; i < clients; i++) {
                long share = requests / clients + (i < requests % clients ? 1 : 0);
                new Client(time, path, share).send();
            }
        }

        @Override
        public boolean isOver() {
            return atWork == 0;
        }

        private final class Client implements Caller {
            private final EventQueue time;
            private final Path path;
            private long left;

            Client(EventQueue time, Path path, long share) {
                this.time = time;
                this.path = path;
                this.left = share;
            }

            void send() {
                if (left-- > 0 && time.nowNanos() < untilNanos) {
                    path.onRequest(this);
                } else {
                    atWork--;
                }
            }

            @Override
            public void onEnd(boolean answered) {
                if (answered) {
                    send();
                } else {
                    time.after(PAUSE_NANOS, this::send);
                }
            }
        }
    }

    /**
     * An open loop of independent clients: a Poisson process whose rate changes with time. Arrivals
     * are drawn at the highest rate and thinned out (P. A. W. Lewis, G. S. Shedler, 1979).
     */
    final class Open implements Traffic {
        private final double highestPerSecond;
        private final DoubleUnaryOperator perSecond;
        private final long untilNanos;

        /**
         * @param perSecond requests per second by seconds since the start, never above {@code
         *     highestPerSecond}
         */
        Open(double highestPerSecond, DoubleUnaryOperator perSecond, long untilNanos) {
            this.highestPerSecond = highestPerSecond;
            this.perSecond = perSecond;
            this.untilNanos = untilNanos;
        }

        @Override
        public void start(EventQueue time, Path path, RandomGenerator random) {
            new Source(time, path, random).scheduleNext();
        }

        private final class Source implements Runnable {
            private final EventQueue time;
            private final Path path;
            private final RandomGenerator random;
            private final long startNanos;

            Source(EventQueue time, Path path, RandomGenerator random) {
                this.time = time;
                this.path = path;
                this.random = random;
                this.startNanos = time.nowNanos();
            }

            void scheduleNext() {
                double when = time.nowNanos();
                do {
                    when += random.nextExponential() / highestPerSecond * 1e9;
                } while (when < untilNanos
                        && random.nextDouble() * highestPerSecond
                                >= perSecond.applyAsDouble((when - startNanos) / 1e9));
                if (when < untilNanos) {
                    time.at((long) when, this);
                }
            }

            @Override
            public void run() {
                path.onRequest(Caller.NOBODY);
                scheduleNext();
            }
        }
    }
}
