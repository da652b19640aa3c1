package io.lambdadispatcher.core.internal.pool;

import java.util.Random;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Admission, queue, attempts and streams keep their contracts under all policies, whatever clients,
 * workers and functions do: each request has one end and one report, no byte is lost, and nothing
 * is left. {@code StageContractTest} does the same for the filters in front of them.
 */
class PoolContractTest {
    private static final int WORLDS = Integer.getInteger("contract.pools", 100);
    private static final int STEPS = 250;

    @ParameterizedTest
    @EnumSource
    void should_keep_the_contract(PoolWorld.Kind kind) {
        for (int seed = 0; seed < WORLDS; seed++) {
            try {
                run(new PoolWorld(kind, new Random(seed)));
            } catch (AssertionError | RuntimeException e) {
                throw new AssertionError("seed " + seed + ": " + e.getMessage(), e);
            }
        }
    }

    private static void run(PoolWorld world) {
        for (int i = 0; i < STEPS; i++) {
            world.step();
        }
        world.end();
    }
}
