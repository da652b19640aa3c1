package io.lambdadispatcher.server.config;

import io.lambdadispatcher.core.options.TrafficPolicy;
import io.lambdadispatcher.core.spi.Filter;
import io.lambdadispatcher.core.spi.FilterExtension;
import io.lambdadispatcher.core.spi.FilterSetting;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.ServiceLoader;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** The filters that are services on the class path, and their settings. */
public final class FilterExtensions {
    private static final List<FilterExtension> SERVICES =
            ServiceLoader.load(FilterExtension.class, FilterExtensions.class.getClassLoader()).stream()
                    .map(ServiceLoader.Provider::get)
                    .toList();

    private static final List<SettingTopic> TOPICS = new ArrayList<>();
    private static final List<Declared<?>> ALL = new ArrayList<>();

    static {
        SERVICES.forEach(service -> service.settings().forEach(each -> ALL.add(declare(each))));
    }

    private FilterExtensions() {}

    /**
     * A setting of a filter, as the others of a function.
     *
     * @param from what the filter says about it
     */
    record Declared<T>(FilterSetting<T> from, Setting<Optional<T>> setting) {
        void addTo(TrafficPolicy.Builder policy, SettingValues values) {
            values.get(setting).ifPresent(value -> policy.extension(from.type(), value));
        }

        /** @return what was expected instead; {@code null} = the value is valid */
        @Nullable
        String check(SettingValues values, Set<String> functions) {
            return values.get(setting)
                    .map(value -> from.check().expected(value, values.get(FunctionSettings.FUNCTION_NAME), functions))
                    .orElse(null);
        }
    }

    private static <T> Declared<T> declare(FilterSetting<T> from) {
        SettingTopic topic = new SettingTopic(from.topic());
        TOPICS.add(topic);
        ValueType<T> type = ValueType.single(from.label(), from.expected(), from.parser());
        Setting<Optional<T>> setting = topic.setting("function." + from.name(), type.orOff(), "off")
                .ofRoutes()
                .doc(from.doc());
        return new Declared<>(from, setting);
    }

    static List<SettingTopic> topics() {
        return TOPICS;
    }

    static List<Declared<?>> all() {
        return ALL;
    }

    /** Creates the filters for a dispatcher. */
    public static List<Filter> filters() {
        return SERVICES.stream().map(FilterExtension::create).toList();
    }
}
