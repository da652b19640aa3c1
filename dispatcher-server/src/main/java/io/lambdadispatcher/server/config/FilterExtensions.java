package io.lambdadispatcher.server.config;

import io.lambdadispatcher.core.options.TrafficPolicy;
import io.lambdadispatcher.core.spi.Filter;
import io.lambdadispatcher.core.spi.FilterCommand;
import io.lambdadispatcher.core.spi.FilterExtension;
import io.lambdadispatcher.core.spi.FilterSetting;
import io.lambdadispatcher.core.spi.ProgramSetting;
import io.lambdadispatcher.wire.http.PrintableText;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.ServiceLoader;
import java.util.Set;
import java.util.function.Function;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Filters that are services, and their settings, in the order in which the filters run. */
public final class FilterExtensions {
    private static final Logger log = LoggerFactory.getLogger(FilterExtensions.class);

    /** A text is one item. A list is allowed, too. */
    private static final Pattern NOT_SPLIT = Pattern.compile("(?!)");

    static final FilterExtensions ON_CLASS_PATH = new FilterExtensions(
            ServiceLoader.load(FilterExtension.class, FilterExtensions.class.getClassLoader()).stream()
                    .map(ServiceLoader.Provider::get)
                    .toList());

    private final List<FilterExtension> services;
    private final List<SettingTopic> topics = new ArrayList<>();
    private final List<Declared<?>> settings = new ArrayList<>();

    /** Of the program. */
    private final Map<ProgramSetting<?>, Setting<?>> programSettings = new LinkedHashMap<>();

    FilterExtensions(List<FilterExtension> services) {
        this.services = services;
        services.forEach(service -> {
            declareAll(service.settings());
            service.programSettings().forEach(each -> programSettings.put(each, declare(each)));
        });
        requireOneOfEachType();
    }

    private FilterExtensions(FilterExtensions first, FilterExtensions second) {
        services = concat(first.services, second.services);
        topics.addAll(concat(first.topics, second.topics));
        settings.addAll(concat(first.settings, second.settings));
        programSettings.putAll(first.programSettings);
        programSettings.putAll(second.programSettings);
        requireOneOfEachType();
    }

    /** Of two settings with one type, a traffic policy has the value of one. */
    private void requireOneOfEachType() {
        Map<Class<?>, String> names = new HashMap<>();
        settings.forEach(each -> {
            String name = each.setting.name();
            String other = names.putIfAbsent(each.from.type(), name);
            if (other != null) {
                throw new IllegalStateException(
                        "two settings with the type " + each.from.type().getName() + ": " + other + " and " + name);
            }
        });
    }

    private static <T> List<T> concat(List<T> first, List<T> second) {
        return Stream.concat(first.stream(), second.stream()).toList();
    }

    FilterExtensions and(FilterExtensions further) {
        return new FilterExtensions(this, further);
    }

    /**
     * A setting of a filter, as the others of a function.
     *
     * @param from what the filter says about it
     * @param switches one of them must have a value, or this one says nothing; none = it always
     *     does
     */
    record Declared<T>(
            FilterSetting<T> from, Setting<Optional<T>> setting, List<Setting<? extends Optional<?>>> switches) {
        void addTo(TrafficPolicy.Builder policy, SettingValues values) {
            if (switches.isEmpty()
                    || switches.stream().anyMatch(each -> values.get(each).isPresent())) {
                values.get(setting).ifPresent(value -> policy.extension(from.type(), ofRoute(value, values)));
            }
        }

        private T ofRoute(T value, SettingValues values) {
            return from.ofRoute()
                    .apply(
                            value,
                            FunctionConfiguration.route(values).withoutWeight().toString());
        }

        /** @return what was expected instead; {@code null} = the value is valid */
        @Nullable
        String check(SettingValues values, Set<String> functions) {
            try {
                return values.get(setting)
                        .map(value ->
                                from.check().expected(value, values.get(FunctionSettings.FUNCTION_NAME), functions))
                        .orElse(null);
            } catch (RuntimeException | LinkageError e) {
                return "a value that its filter can check (" + PrintableText.ofFailure(e) + ")";
            }
        }
    }

    /** What only refines the others of its filter costs nothing while they are off. */
    private void declareAll(List<FilterSetting<?>> ofFilter) {
        List<Setting<? extends Optional<?>>> switches = new ArrayList<>();
        ofFilter.forEach(each -> {
            Declared<?> declared = declare(each, each.isOffByDefault() ? List.of() : switches);
            settings.add(declared);
            if (each.isOffByDefault()) {
                switches.add(declared.setting);
            }
        });
    }

    private <T> Declared<T> declare(FilterSetting<T> from, List<Setting<? extends Optional<?>>> switches) {
        String name = "function." + from.name();
        Function<String, T> parser = refusing(name, from.parser());
        ValueType<Optional<T>> type = new ValueType<>(
                from.label(), from.expected(), items -> parse(String.join(", ", items), from, parser), NOT_SPLIT);
        Setting<Optional<T>> setting = topic(from.topic())
                .setting(name, from.isOffByDefault() ? type.orOff(Optional.empty()) : type, from.byDefault())
                .ofRoutes()
                .doc(from.doc());
        return new Declared<>(from, setting, switches);
    }

    private <T> Setting<T> declare(ProgramSetting<T> from) {
        Function<String, T> parser = refusing(from.name(), from.parser());
        ValueType<T> type = new ValueType<>(
                from.label(), from.expected(), items -> parser.apply(String.join(", ", items)), NOT_SPLIT);
        return topic(from.topic()).setting(from.name(), type, from.byDefault()).doc(from.doc());
    }

    /** Creates the filter of a service with the settings of the program. */
    public Filter create(FilterExtension service, Configuration configuration) {
        return service.create(new ProgramSetting.Values() {
            @Override
            @SuppressWarnings("unchecked") // As declared.
            public <T> T get(ProgramSetting<T> setting) {
                return configuration.get((Setting<T>) Objects.requireNonNull(
                        programSettings.get(setting), "a setting that programSettings() returns"));
            }
        });
    }

    private static <T> Optional<T> parse(String text, FilterSetting<T> from, Function<String, T> parser) {
        return text.equals(from.byDefault()) ? Optional.empty() : Optional.of(parser.apply(text));
    }

    private SettingTopic topic(String title) {
        return topics.stream()
                .filter(each -> each.title().equals(title))
                .findAny()
                .orElseGet(() -> {
                    topics.add(new SettingTopic(title));
                    return topics.get(topics.size() - 1);
                });
    }

    /** Whatever a parser throws, it does not take the text. */
    private static <T> Function<String, T> refusing(String setting, Function<String, T> parser) {
        return text -> {
            try {
                return Objects.requireNonNull(parser.apply(text));
            } catch (RuntimeException e) {
                throw new IllegalArgumentException(e);
            } catch (LinkageError e) {
                log.error("{}: its filter cannot read any value", setting, e);
                throw new IllegalArgumentException(e);
            }
        };
    }

    List<SettingTopic> topics() {
        return topics;
    }

    List<Declared<?>> settings() {
        return settings;
    }

    /** Returns what the filters can be told. */
    public List<FilterCommand> commands() {
        return services.stream().flatMap(each -> each.commands().stream()).toList();
    }

    /** Returns the service that has a command. */
    public FilterExtension serviceOf(FilterCommand command) {
        return services.stream()
                .filter(each -> each.commands().contains(command))
                .findFirst()
                .orElseThrow();
    }

    /** Returns what creates the filters of a dispatcher. */
    public List<FilterExtension> services() {
        return services;
    }
}
