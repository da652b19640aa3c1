package io.lambdadispatcher.core.internal.capacity;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.core.observe.ServiceTimes;
import io.lambdadispatcher.core.options.CapacityPolicy;
import io.lambdadispatcher.core.options.FunctionOptions;
import io.lambdadispatcher.core.options.LaunchLimits;
import io.lambdadispatcher.core.spi.WorkerLauncher.Cause;
import io.lambdadispatcher.core.spi.WorkerLauncher.WorkerExit;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Why no worker becomes ready: each case is a row of {@code docs/guides/troubleshoot.md}, which
 * operators search for the text that they see.
 */
class TroubleshootTest {
    private static final long SECOND = TimeUnit.SECONDS.toNanos(1);

    private enum Row {
        NOT_DIALLED("has not dialled in within 30 s") {
            @Override
            void cause(TroubleshootTest test) {
                test.pass(31);
            }
        },
        CIRCUIT("launching is blocked by the open circuit breaker, last failure: …") {
            @Override
            void cause(TroubleshootTest test) {
                test.failFirst(Cause.REFUSED);
            }
        },
        BACKOFF("launching is delayed by the backoff, last failure: …") {
            @Override
            void cause(TroubleshootTest test) {
                test.failFirst(Cause.FAILED);
            }
        },
        THROTTLED("launching is throttled, last failure: …") {
            @Override
            void cause(TroubleshootTest test) {
                test.failFirst(Cause.THROTTLED);
            }
        },
        PREPARED("the function is being prepared by its platform, last answer: …") {
            @Override
            void cause(TroubleshootTest test) {
                test.failFirst(Cause.NOT_READY);
            }
        },
        LAUNCHES_PER_MINUTE("launching is limited by function.launches-per-minute: …") {
            @Override
            void cause(TroubleshootTest test) {
                test.limit(LaunchLimits.builder().launchesPerMinute(1).build());
            }
        },
        SPENDING_LIMIT("launching is limited by the spending limit: …") {
            @Override
            void cause(TroubleshootTest test) {
                test.limit(LaunchLimits.builder()
                        .gbSecondsPerHour(1)
                        .workerMegabytes(1024)
                        .build());
            }
        },
        KILL_SWITCH("launching is paused by the kill switch") {
            @Override
            void cause(TroubleshootTest test) {
                test.controller.setLaunching(false);
                test.pass(1);
            }
        };

        /** The first column of the row, in which … is anything. */
        final String text;

        Row(String text) {
            this.text = text;
        }

        /** Makes the dispatcher say so. */
        abstract void cause(TroubleshootTest test);
    }

    private final List<String> launched = new ArrayList<>();
    private final List<String> said = new ArrayList<>();
    private CapacityController controller = controller(LaunchLimits.builder().build());
    private long now = 77 * SECOND;

    private static CapacityController controller(LaunchLimits limits) {
        FunctionOptions function = FunctionOptions.builder("f")
                .capacity(CapacityPolicy.fixed(2))
                .launching(limits)
                .build();
        return new CapacityController(function, new Random(42));
    }

    private void limit(LaunchLimits limits) {
        controller = controller(limits);
        pass(2);
    }

    private void failFirst(Cause cause) {
        pass(1);
        controller.onExit(now, launched.get(0), new WorkerExit(cause, "broken"));
        look();
    }

    private void pass(int seconds) {
        for (int i = 0; i < seconds; i++) {
            now += SECOND;
            look();
        }
    }

    private void look() {
        Plan plan = controller.evaluate(
                now, new Demand(0, 0, 0, 0, 0, Demand.Tunnels.NONE, 0, new ServiceTimes(), List.of()), FleetView.ALONE);
        plan.kills().forEach(kill -> said.add(kill.reason()));
        for (Plan.Launch launch : plan.launches()) {
            launched.add("w" + launched.size());
            controller.onLaunched(now, launched.get(launched.size() - 1), launch);
        }
        String blocked = controller.status(now, null).blockedReason();
        if (blocked != null) {
            said.add(blocked);
        }
    }

    @ParameterizedTest
    @EnumSource
    void should_say_what_the_row_says(Row row) throws Exception {
        assertThat(Files.readString(Path.of("../docs/guides/troubleshoot.md"))).contains("| `" + row.text + "` |");

        row.cause(this);

        Pattern pattern = Pattern.compile(Pattern.quote(row.text).replace("…", "\\E.+\\Q"));
        assertThat(said).anyMatch(text -> pattern.matcher(text).matches());
    }
}
