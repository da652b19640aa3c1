package io.lambdadispatcher.core.internal.filter;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.core.internal.exchange.FunctionOpener;
import io.lambdadispatcher.core.options.BreakerPolicy;
import io.lambdadispatcher.core.options.DeadlinePolicy;
import io.lambdadispatcher.core.options.TrafficPolicy;
import io.lambdadispatcher.core.testkit.RecordingObserver;
import io.netty.channel.embedded.EmbeddedChannel;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Each filter, each pair of filters, and random sets of them keep the contract of requests and
 * responses, whatever their client and their functions do.
 */
class StageContractTest {
    private static final int WORLDS = Integer.getInteger("contract.worlds", 100);
    private static final int STEPS = 60;

    enum Feature implements Consumer<TrafficPolicy.Builder> {
        BREAKER(policy -> policy.breaker(BreakerPolicy.builder("test")
                .errors(0.5)
                .latency(Duration.ofSeconds(5))
                .build())),
        DEADLINE(policy -> policy.deadline(
                DeadlinePolicy.builder().limit(Duration.ofSeconds(30)).build()));

        private final Consumer<TrafficPolicy.Builder> setting;

        Feature(Consumer<TrafficPolicy.Builder> setting) {
            this.setting = setting;
        }

        @Override
        public void accept(TrafficPolicy.Builder policy) {
            setting.accept(policy);
        }
    }

    static Stream<List<Feature>> features() {
        List<List<Feature>> sets = new ArrayList<>();
        Feature[] all = Feature.values();
        for (Feature one : all) {
            sets.add(List.of(one));
            for (Feature other : Arrays.copyOfRange(all, one.ordinal() + 1, all.length)) {
                sets.add(List.of(one, other));
            }
        }
        Random random = new Random(1);
        for (int i = 0; i < 20; i++) {
            sets.add(random.ints(4, 0, all.length)
                    .distinct()
                    .mapToObj(each -> all[each])
                    .toList());
        }
        return sets.stream();
    }

    @ParameterizedTest
    @MethodSource("features")
    void should_keep_the_contract(List<Feature> features) {
        TrafficPolicy.Builder builder = TrafficPolicy.builder();
        features.forEach(each -> each.accept(builder));
        check(
                builder.build(),
                (own, observer, channel) -> new FunctionFilters("own", observer).around(own, channel.eventLoop()));
    }

    /** Filters that are to be checked. */
    interface Chain {
        FunctionOpener before(FunctionOpener function, RecordingObserver observer, EmbeddedChannel channel);
    }

    /** Checks that filters with a policy keep the contract. */
    static void check(TrafficPolicy policy, Chain chain) {
        for (int seed = 0; seed < WORLDS; seed++) {
            try {
                run(policy, chain, new Random(seed));
            } catch (AssertionError | RuntimeException e) {
                throw new AssertionError("seed " + seed + ": " + e.getMessage(), e);
            }
        }
    }

    private static void run(TrafficPolicy policy, Chain chain, Random random) {
        EmbeddedChannel channel = new EmbeddedChannel();
        channel.freezeTime();
        ContractWorld world = new ContractWorld(random);
        ContractWorld.Service own = world.new Service("own");
        RecordingObserver observer = new RecordingObserver();
        FunctionOpener opener = chain.before(own, observer, channel);
        for (int i = 0; i < STEPS; i++) {
            step(world, opener, policy, channel);
        }
        end(world, channel);
        world.clients.forEach(client -> checkReport(world, client, observer));
        channel.finishAndReleaseAll();
        assertThat(world.buffers).allMatch(buffer -> buffer.refCnt() == 0);
    }

    static void step(ContractWorld world, FunctionOpener opener, TrafficPolicy policy, EmbeddedChannel channel) {
        switch (world.random.nextInt(8)) {
            case 0 -> {
                if (world.clients.size() < 5) {
                    world.open(opener, policy);
                }
            }
            case 1, 2, 3 -> {
                if (!world.clients.isEmpty()) {
                    world.clients
                            .get(world.random.nextInt(world.clients.size()))
                            .act();
                }
            }
            case 4 -> {
                channel.advanceTimeBy(world.random.nextInt(3000), TimeUnit.MILLISECONDS);
                run(channel);
            }
            default -> {
                if (!world.calls.isEmpty()) {
                    world.calls.get(world.random.nextInt(world.calls.size())).act();
                }
            }
        }
        if (world.oneIn(2)) {
            run(channel);
        }
    }

    static void run(EmbeddedChannel channel) {
        channel.runPendingTasks();
        channel.runScheduledPendingTasks();
    }

    /** All clients read what there is, and functions answer. Then nothing is left. */
    static void end(ContractWorld world, EmbeddedChannel channel) {
        run(channel);
        world.clients.stream().filter(client -> world.oneIn(3)).forEach(ContractWorld.Client::leave);
        world.calls.forEach(ContractWorld.Call::checkWaits);
        for (int round = 0; round < 10; round++) {
            world.clients.forEach(ContractWorld.Client::finish);
            run(channel);
            // By index, because a failed call can open another one.
            for (int i = 0; i < world.calls.size(); i++) {
                world.calls.get(i).finish();
            }
            run(channel);
            world.clients.forEach(ContractWorld.Client::takeAll);
            run(channel);
        }
        for (ContractWorld.Client client : world.clients) {
            assertThat(client.isOver())
                    .as("client" + client.id + " has an answer, after:" + world.log)
                    .isTrue();
        }
        world.calls.forEach(ContractWorld.Call::checkEnd);
    }

    /** A function reports what it gets. What gets to none is reported by the filter. */
    static void checkReport(ContractWorld world, ContractWorld.Client client, RecordingObserver observer) {
        String id = Integer.toString(client.id);
        boolean gotThrough = world.calls.stream().anyMatch(call -> call.client == client.id);
        long reports = observer.starts.stream()
                .filter(start -> id.contentEquals(start.headers().get(ContractWorld.ID)))
                .count();
        assertThat(reports)
                .as("reports of client" + id + ", after:" + world.log)
                .isBetween(gotThrough ? 0L : 1L, 1L);
    }
}
