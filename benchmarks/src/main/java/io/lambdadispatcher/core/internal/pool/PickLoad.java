package io.lambdadispatcher.core.internal.pool;

import java.util.Random;
import org.jspecify.annotations.NullMarked;

/**
 * The way into the pool's choice for benchmarks: lives in its package because the choice is nobody else's business. As many
 * requests are under way as there are workers; they end in an order that has nothing to do with the one they started in. One thread.
 */
@NullMarked
public final class PickLoad {
    private static final int ORDERS = 1 << 16;

    private final LeastOutstanding<Worker> choice = new LeastOutstanding<>();
    private final Worker[] underWay;
    private final int[] order = new int[ORDERS];
    private int step;

    /** @param workers entries to choose among */
    public PickLoad(int workers) {
        for (int i = 0; i < workers; i++) {
            choice.put(new Worker(), 0);
        }
        underWay = new Worker[workers];
        Random random = new Random(workers);
        for (int i = 0; i < ORDERS; i++) {
            order[i] = random.nextInt(workers);
        }
        for (int i = 0; i < workers; i++) {
            underWay[i] = start();
        }
    }

    /** One request ends and the next one starts. @return how many the chosen worker has now */
    public int endAndStart() {
        int index = order[step++ & (ORDERS - 1)];
        Worker ended = underWay[index];
        ended.outstanding--;
        choice.put(ended, ended.outstanding);
        Worker started = start();
        underWay[index] = started;
        return started.outstanding;
    }

    private Worker start() {
        Worker chosen = choice.least();
        if (chosen == null) {
            throw new IllegalStateException("no worker to choose, expected " + underWay.length);
        }
        chosen.outstanding++;
        choice.put(chosen, chosen.outstanding);
        return chosen;
    }

    private static final class Worker extends LeastOutstanding.Entry {
        private int outstanding;
    }
}
