package io.lambdadispatcher.cache;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.lambdadispatcher.core.observe.FilterGauge;
import io.lambdadispatcher.core.options.TrafficPolicy;
import io.lambdadispatcher.core.spi.FilterCommand;
import io.lambdadispatcher.core.spi.FilterSetting;
import io.lambdadispatcher.core.spi.ProgramSetting;
import io.lambdadispatcher.core.spi.RequestContext;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.Http2Headers;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class CacheExtensionTest {
    private final CacheExtension extension = new CacheExtension();

    @SuppressWarnings("unchecked")
    private CachePolicy parse(String text) {
        FilterSetting<CachePolicy> setting =
                (FilterSetting<CachePolicy>) extension.settings().get(0);
        return setting.ofRoute().apply(setting.parser().apply(text), "the route");
    }

    @ParameterizedTest
    @ValueSource(strings = {"on", "true"})
    void should_read_what_is_cached(String on) {
        CachePolicy policy = parse(on);
        assertThat(policy.name()).isEqualTo("the route");
        assertThat(policy.staleIfError()).isZero();
        assertThat(policy.maxBodyBytes()).isEqualTo(1 << 20);
        CachePolicy other = parse(on + " max-body 2KiB  stale-if-error 1h");
        assertThat(other.staleIfError()).isEqualTo(Duration.ofHours(1));
        assertThat(other.maxBodyBytes()).isEqualTo(2048);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "1h",
                "on max-body",
                "on max-body 65MiB",
                "on max-body 0B",
                "on stale-if-error 366d",
                "on stale-if-error 1h stale-if-error 2h",
                "on for 1h"
            })
    void should_refuse_what_says_nothing_about_a_cache(String text) {
        assertThatThrownBy(() -> parse(text)).isInstanceOf(IllegalArgumentException.class);
    }

    @ParameterizedTest
    @ValueSource(strings = {"1023KiB", "1025MiB", "999999999999GiB", "x"})
    void should_refuse_another_size_of_the_store(String text) {
        assertThatThrownBy(() -> memory().parser().apply(text)).isInstanceOf(IllegalArgumentException.class);
    }

    @SuppressWarnings("unchecked")
    private ProgramSetting<Integer> memory() {
        return (ProgramSetting<Integer>) extension.programSettings().get(0);
    }

    @Test
    void should_create_a_cache_of_this_size_and_clear_it() {
        HttpCache cache = (HttpCache) extension.create(new ProgramSetting.Values() {
            @Override
            @SuppressWarnings("unchecked")
            public <T> T get(ProgramSetting<T> setting) {
                return (T) Integer.valueOf(5 << 20);
            }
        });
        FilterCommand clear = extension.commands().get(0);
        assertThat(cache.gauges()).allMatch(gauge -> gauge.value().getAsDouble() == 0);
        assertThat(clear.action().applyAsLong(cache))
                .as("nothing was ever stored")
                .isZero();
        CachePolicy policy = CachePolicy.builder("").build();
        cache.store().put(Objects.requireNonNull(CacheRequest.of(asked(), policy)), stored(), 0);
        assertThat(cache.gauges())
                .extracting(FilterGauge::name)
                .containsExactly("cache.memory", "cache.memory.limit", "cache.evictions");
        assertThat(cache.gauges().get(1).value().getAsDouble()).isEqualTo(5 << 20);
        double used = cache.gauges().get(0).value().getAsDouble();
        assertThat(used).isBetween(512.0, 2000.0);
        assertThat(clear.action().applyAsLong(cache)).isEqualTo((long) used);
        assertThat(cache.gauges().get(0).value().getAsDouble()).isZero();
    }

    private static StoredResponse stored() {
        StoredResponse.Terms terms = new StoredResponse.Terms(
                "", List.of(), List.of(), true, true, 0, System.nanoTime(), Long.MAX_VALUE / 4, 0, 0);
        return new StoredResponse(terms, 200, asked().headers().copy(), new byte[10]);
    }

    private static RequestContext asked() {
        Http2Headers head = new DefaultHttp2Headers()
                .method("GET")
                .scheme("http")
                .authority("a")
                .path("/");
        return CacheRig.asked(head, TrafficPolicy.NEUTRAL);
    }

    @Test
    void should_refuse_policies_out_of_their_ranges() {
        assertThatThrownBy(() -> CachePolicy.builder("c")
                        .staleIfError(Duration.ofDays(366))
                        .build())
                .hasMessageContaining("staleIfError")
                .hasMessageContaining("365 days");
        assertThatThrownBy(() -> CachePolicy.builder("c").maxBodyBytes(0).build())
                .hasMessageContaining("maxBodyBytes: 0");
        assertThatThrownBy(() -> new HttpCache(0)).hasMessageContaining("maxBytes: 0");
    }
}
