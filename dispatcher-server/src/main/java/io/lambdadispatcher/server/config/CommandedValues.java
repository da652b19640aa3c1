package io.lambdadispatcher.server.config;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Values that commands have set while the dispatcher runs. They hold instead of those of the
 * configuration, until the configuration of the same setting changes, or a weight is no longer
 * applicable. Immutable.
 */
public final class CommandedValues {
    /** No command has set anything. */
    public static final CommandedValues NONE = new CommandedValues(Map.of());

    /** The source of values that a command has set. */
    static final String SOURCE = "command";

    /** @param function name of the function; {@code null} = a setting of the dispatcher */
    record Key(@Nullable String function, Setting<?> setting) {
        @Override
        public String toString() {
            return function == null ? setting.name() : "function " + function + ", " + setting.lastName();
        }
    }

    private final Map<Key, String> texts;

    private CommandedValues(Map<Key, String> texts) {
        this.texts = texts;
    }

    /**
     * Returns these values and one more.
     *
     * @param function name of the function; {@code null} = a setting of the dispatcher
     */
    public CommandedValues with(@Nullable String function, Setting<?> setting, String text) {
        Map<Key, String> more = new LinkedHashMap<>(texts);
        more.put(new Key(function, setting), text);
        return new CommandedValues(more);
    }

    /**
     * Returns the configuration with these values instead of its own.
     *
     * @throws ConfigurationException if a value is not valid, or contradicts the others
     */
    public Configuration appliedTo(Configuration configuration) throws ConfigurationException {
        return texts.isEmpty() ? configuration : configuration.withCommanded(texts);
    }

    /** Returns the values of those settings that are the same in two configurations. */
    public CommandedValues keptBy(Configuration before, Configuration after) {
        Map<Key, String> kept = new LinkedHashMap<>(texts);
        kept.keySet().removeIf(key -> !before.hasSame(key.function, key.setting, after));
        return new CommandedValues(kept);
    }

    /**
     * Returns these values without the weights of functions that share their route with no other,
     * or only with functions that have a weight of 0, too. Such a configuration would be invalid,
     * and with it each later one.
     */
    public CommandedValues applicableTo(Configuration configuration) {
        List<FunctionConfiguration> sharing = configuration.sharingRoutes();
        Map<Route, Integer> sums = sharing.stream()
                .collect(Collectors.toMap(each -> each.route().withoutWeight(), this::weight, Integer::sum));
        Set<String> weighed = sharing.stream()
                .filter(each -> sums.getOrDefault(each.route().withoutWeight(), 0) > 0)
                .map(each -> each.options().name())
                .collect(Collectors.toSet());
        Map<Key, String> applicable = new LinkedHashMap<>(texts);
        applicable
                .keySet()
                .removeIf(key -> key.setting == FunctionSettings.FUNCTION_WEIGHT && !weighed.contains(key.function));
        return new CommandedValues(applicable);
    }

    private int weight(FunctionConfiguration of) {
        String commanded = texts.get(new Key(of.options().name(), FunctionSettings.FUNCTION_WEIGHT));
        return commanded == null ? of.route().weight() : Integer.parseInt(commanded);
    }

    /** Returns a line for each of these values that {@link #applicableTo} has left out. */
    public List<String> endsIn(CommandedValues applicable) {
        return texts.keySet().stream()
                .filter(key -> !applicable.texts.containsKey(key))
                .map(key -> key + ": not set by a command any more, because the weights of its route would all be 0,"
                        + " or no other function has this route")
                .toList();
    }

    /** Returns a line for each value: {@code function shop, weight: 10, set by a command}. */
    public List<String> lines() {
        return texts.entrySet().stream()
                .map(each -> each.getKey() + ": " + each.getValue() + ", set by a command")
                .toList();
    }
}
