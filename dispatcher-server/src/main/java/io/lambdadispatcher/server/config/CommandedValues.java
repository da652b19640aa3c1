package io.lambdadispatcher.server.config;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Values that commands have set while the dispatcher runs. They hold instead of those of the
 * configuration, until the configuration of the same setting changes, or the function of a weight
 * no longer shares its route. Immutable.
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
     * Returns these values without the weights of functions that do not share their route. A weight
     * of 0 would make such a configuration invalid, and no command could change it.
     */
    public CommandedValues applicableTo(Configuration configuration) {
        List<String> sharing = configuration.sharingRoutes().stream()
                .map(function -> function.options().name())
                .toList();
        Map<Key, String> applicable = new LinkedHashMap<>(texts);
        applicable
                .keySet()
                .removeIf(key -> key.setting == FunctionSettings.FUNCTION_WEIGHT && !sharing.contains(key.function));
        return new CommandedValues(applicable);
    }

    /** Returns a line for each of these values that {@link #applicableTo} has left out. */
    public List<String> endsIn(CommandedValues applicable) {
        return texts.keySet().stream()
                .filter(key -> !applicable.texts.containsKey(key))
                .map(key ->
                        key + ": not set by a command any more, because the function shares its route with no other")
                .toList();
    }

    /** Returns a line for each value: {@code function shop, weight: 10, set by a command}. */
    public List<String> lines() {
        return texts.entrySet().stream()
                .map(each -> each.getKey() + ": " + each.getValue() + ", set by a command")
                .toList();
    }
}
