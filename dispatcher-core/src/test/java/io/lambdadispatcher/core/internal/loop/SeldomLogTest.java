package io.lambdadispatcher.core.internal.loop;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.util.concurrent.MockTicker;
import io.netty.util.concurrent.Ticker;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.slf4j.Logger;
import org.slf4j.helpers.MessageFormatter;

class SeldomLogTest {
    private final List<String> lines = new ArrayList<>();
    private final MockTicker ticker = Ticker.newMockTicker();
    private final SeldomLog log = new SeldomLog(
            (Logger) Proxy.newProxyInstance(
                    getClass().getClassLoader(), new Class<?>[] {Logger.class}, (proxy, method, arguments) -> {
                        lines.add(MessageFormatter.arrayFormat((String) arguments[0], (Object[]) arguments[1])
                                .getMessage());
                        return null;
                    }),
            ticker);

    @Test
    void should_log_one_line_in_ten_seconds_and_count_the_others() {
        for (int i = 0; i < 1000; i++) {
            log.warn("stream {}", i);
            ticker.advance(9, TimeUnit.MILLISECONDS);
        }
        assertThat(lines).containsExactly("stream 0");

        ticker.advance(1, TimeUnit.SECONDS);
        log.warn("stream {}", "x");
        assertThat(lines).containsExactly("stream 0", "stream x (and 999 similar lines were not logged)");

        ticker.advance(SeldomLog.EVERY_NANOS, TimeUnit.NANOSECONDS);
        log.warn("stream {}", "y");
        assertThat(lines).hasSize(3).last().isEqualTo("stream y");
    }

    @Test
    void should_not_swallow_another_cause() {
        log.warnOf("secret", "worker {} is rejected", "a");
        log.warnOf("function", "worker {} is rejected", "b");
        log.warn("worker {} is lost", "c");
        log.warnOf("secret", "worker {} is rejected", "d");
        assertThat(lines).containsExactly("worker a is rejected", "worker b is rejected", "worker c is lost");
    }
}
