package io.lambdadispatcher.server.config;

import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.stream.Stream;

/**
 * All settings that a dispatcher knows, by each of their names: its own, and those of filters.
 * Immutable.
 */
public final class SettingTable {
    private final List<SettingTopic> topics;
    private final FilterExtensions filters;
    private final Map<String, Setting<?>> byName;
    private final Map<String, Setting<?>> byVariable;
    private final Map<String, Setting<?>> byFlag;

    /**
     * @param topics with those of {@code filters}
     * @throws IllegalStateException if two settings share a name
     */
    SettingTable(List<SettingTopic> topics, FilterExtensions filters) {
        this.topics = topics;
        this.filters = filters;
        byName = by(topics, Setting::name);
        byVariable = by(topics, Setting::variable);
        byFlag = by(topics, Setting::flag);
    }

    private static Map<String, Setting<?>> by(List<SettingTopic> topics, Function<Setting<?>, String> key) {
        Map<String, Setting<?>> settings = new LinkedHashMap<>();
        topics.stream().flatMap(topic -> topic.settings().stream()).forEach(setting -> {
            if (settings.putIfAbsent(key.apply(setting), setting) != null) {
                throw new IllegalStateException("two settings: " + key.apply(setting));
            }
        });
        return Collections.unmodifiableMap(settings);
    }

    /** Returns these settings and those of further filters, which come last. */
    SettingTable with(FilterExtensions further) {
        List<SettingTopic> all =
                Stream.concat(topics.stream(), further.topics().stream()).toList();
        return new SettingTable(all, filters.and(further));
    }

    public List<SettingTopic> topics() {
        return topics;
    }

    public FilterExtensions filters() {
        return filters;
    }

    Map<String, Setting<?>> byName() {
        return byName;
    }

    Map<String, Setting<?>> byVariable() {
        return byVariable;
    }

    /** Returns all settings by flag, such as {@code --public-plain-port}. */
    public Map<String, Setting<?>> byFlag() {
        return byFlag;
    }
}
