package io.lambdadispatcher.cache;

import io.lambdadispatcher.core.spi.Filter;
import io.lambdadispatcher.core.spi.FilterCommand;
import io.lambdadispatcher.core.spi.FilterExtension;
import io.lambdadispatcher.core.spi.FilterSetting;
import io.lambdadispatcher.core.spi.ProgramSetting;
import io.lambdadispatcher.core.spi.SettingText;
import java.util.List;

/**
 * Stored responses with the settings {@code function.cache} and {@code http.cache-memory}, and the
 * command {@code cache clear}. Created by the service loader.
 */
public final class CacheExtension implements FilterExtension {
    private static final String TOPIC = "Stored responses";
    private static final int MIB = 1 << 20;

    private static final FilterSetting<CachePolicy> POLICY = new FilterSetting<>(
            TOPIC,
            "cache",
            CachePolicy.class,
            "on [stale-if-error TIME] [max-body SIZE]",
            "on, and optionally a time of at most 365d for stale responses, and the size of the largest"
                    + " body, from 1B to 64MiB, such as on stale-if-error 1h max-body 1MiB",
            CacheExtension::parse,
            (policy, function, functions) -> null,
            "Stores responses whose cache-control or expires allows it, and answers later requests with them."
                    + " Identical requests in flight share one response. stale-if-error = for this time after the end of"
                    + " its freshness, a stored response replaces an error, unless the response says another time. max-body"
                    + " = size of the largest body that is stored, by default 1MiB.",
            "off",
            // A handler may see by which route a request came.
            CachePolicy::named);

    private static final ProgramSetting<Integer> MEMORY = new ProgramSetting<>(
            TOPIC,
            "http.cache-memory",
            "1MiB..1GiB",
            "a size from 1MiB to 1GiB",
            text -> SettingText.bytes(text, MIB, 1024 * MIB),
            "Maximum memory of the heap for the responses that function.cache stores. All functions share it.",
            "64MiB");

    private static final FilterCommand CLEAR = new FilterCommand(
            "cache clear",
            "Removes all stored responses.",
            "Use it, for example, after a wrong one was stored. In a fleet, one command holds for all dispatchers: the"
                    + " others follow within two seconds.",
            "bytes",
            "bytes of stored responses removed",
            filter -> clear((HttpCache) filter));

    @Override
    public Filter create() {
        return new HttpCache(64 * MIB);
    }

    @Override
    public Filter create(ProgramSetting.Values values) {
        return new HttpCache(values.get(MEMORY));
    }

    @Override
    public List<FilterSetting<?>> settings() {
        return List.of(POLICY);
    }

    @Override
    public List<ProgramSetting<?>> programSettings() {
        return List.of(MEMORY);
    }

    @Override
    public List<FilterCommand> commands() {
        return List.of(CLEAR);
    }

    private static long clear(HttpCache cache) {
        CacheSnapshot before = cache.snapshot();
        cache.clear();
        return before == null ? 0 : before.bytes();
    }

    private static CachePolicy parse(String text) {
        String[] words = text.split("[\\s,]+");
        // YAML 1.1 reads an unquoted on as true, and many editors write true.
        require((words[0].equals("on") || words[0].equals("true")) && words.length % 2 == 1);
        CachePolicy.Builder policy = CachePolicy.builder("");
        boolean stale = false;
        boolean body = false;
        for (int i = 1; i < words.length; i += 2) {
            if (words[i].equals("stale-if-error") && !stale) {
                stale = true;
                policy.staleIfError(SettingText.duration(words[i + 1]));
            } else {
                require(words[i].equals("max-body") && !body);
                body = true;
                policy.maxBodyBytes(SettingText.bytes(words[i + 1], 1, 64 * MIB));
            }
        }
        return policy.build();
    }

    private static void require(boolean holds) {
        if (!holds) {
            throw new IllegalArgumentException("not valid");
        }
    }
}
