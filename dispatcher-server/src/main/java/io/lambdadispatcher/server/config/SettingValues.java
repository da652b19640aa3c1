package io.lambdadispatcher.server.config;

import io.lambdadispatcher.server.config.Configuration.Row;
import io.lambdadispatcher.server.config.PolicyValueTypes.Concurrency;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * A value and its source for each setting: of the dispatcher and its only function, or of one entry
 * of {@code functions}. Does not change after {@link ConfigurationLoader} has filled it.
 */
final class SettingValues {
    /** The source of values that nobody has set. */
    static final String DEFAULT = "default";

    private static final Value<?> UNSET = new Value<>(null, null, DEFAULT, "");

    /**
     * @param value {@code null} = unset
     * @param text the original text, even if it is not valid; {@code null} = unset
     * @param contents digest of the file that the text names; empty if it names none
     */
    private record Value<T>(@Nullable T value, @Nullable String text, String source, String contents) {
        boolean isSameAs(Value<?> other) {
            return Objects.equals(text, other.text) && contents.equals(other.contents);
        }
    }

    private final SettingTable table;
    private final String owner;
    private final String prefix;
    private final Map<Setting<?>, Value<?>> values = new LinkedHashMap<>();
    private final Set<Setting<?>> invalid = new HashSet<>();

    /** Starts with the defaults of the table. For the dispatcher and its only function. */
    SettingValues(SettingTable table) {
        this(table, "", "");
    }

    private SettingValues(SettingTable table, String owner, String prefix) {
        this.table = table;
        this.owner = owner;
        this.prefix = prefix;
        table.byName().values().forEach(setting -> {
            values.put(setting, UNSET);
            String text = setting.defaultText();
            if (text != null) {
                setDefault(setting, text);
            }
        });
    }

    private SettingValues(SettingValues other) {
        this(other.owner, other.prefix, other);
    }

    private SettingValues(String owner, String prefix, SettingValues other) {
        table = other.table;
        this.owner = owner;
        this.prefix = prefix;
        values.putAll(other.values);
        invalid.addAll(other.invalid);
    }

    /** Starts with the defaults, for the entry of {@code functions} with this name. */
    static SettingValues ofFunction(SettingTable table, String name) {
        return new SettingValues(table, "function " + name, "function " + name + ", ");
    }

    /** Starts with the defaults, for an entry of {@code functions} that has no valid name. */
    static SettingValues ofFunction(SettingTable table, int index) {
        return new SettingValues(table, "functions[" + index + "]", "functions[" + index + "].");
    }

    /** Starts with the values of its function, for an entry of {@code routes}. */
    static SettingValues ofRoute(int index, SettingValues function) {
        String owner = "routes[" + index + "]";
        return new SettingValues(owner, owner + ".", function);
    }

    SettingValues withDefault(Setting<?> setting, String text) {
        SettingValues changed = new SettingValues(this);
        changed.setDefault(setting, text);
        return changed;
    }

    SettingValues onLoopback() {
        SettingValues changed = new SettingValues(this);
        changed.values.replaceAll((setting, value) -> value.value instanceof ListenAddress address
                ? new Value<>(address.orOn("127.0.0.1"), value.text, value.source, value.contents)
                : value);
        return changed;
    }

    /** Returns a copy in which a command has set a value. Reports a problem if it is not valid. */
    SettingValues withCommanded(Setting<?> setting, String text, Consumer<String> problems) {
        SettingValues changed = new SettingValues(this);
        changed.set(setting, RawValue.of(text, CommandedValues.SOURCE), problems);
        return changed;
    }

    /** Returns the settings that have values here. */
    SettingTable table() {
        return table;
    }

    boolean hasSame(Setting<?> setting, SettingValues other) {
        return value(setting).isSameAs(other.value(setting));
    }

    private void setDefault(Setting<?> setting, String text) {
        set(setting, RawValue.of(text, DEFAULT), problem -> {
            throw new IllegalArgumentException(problem);
        });
    }

    /** Sets a value. If the text is not valid, reports a problem and keeps the previous value. */
    <T> void set(Setting<T> setting, RawValue raw, Consumer<String> problems) {
        // Before the file is parsed: a change after that is seen as a change.
        String file = setting.type().fileIn(raw.text());
        String contents = file == null ? "" : FileDigest.of(file);
        try {
            values.put(setting, new Value<>(setting.type().parse(raw), raw.text(), raw.source(), contents));
        } catch (IllegalArgumentException | ArithmeticException e) {
            values.put(setting, new Value<>(find(setting), raw.text(), raw.source(), contents));
            invalid.add(setting);
            problems.accept(problem(setting, setting.type().expected()));
        }
    }

    @SuppressWarnings("unchecked") // set() stores a value of the setting's type.
    private <T> Value<T> value(Setting<T> setting) {
        return (Value<T>) Objects.requireNonNull(values.get(setting), setting.name());
    }

    <T> @Nullable T find(Setting<T> setting) {
        return value(setting).value;
    }

    /** Returns the value of a setting that has a default. */
    <T> T get(Setting<T> setting) {
        return Objects.requireNonNull(find(setting), setting.name());
    }

    boolean isSet(Setting<?> setting) {
        return value(setting).text != null;
    }

    boolean isDefault(Setting<?> setting) {
        return value(setting).source.equals(DEFAULT);
    }

    /** Refuses a text without parsing it. The setting keeps its previous value. */
    <T> void refuse(Setting<T> setting, RawValue raw, String problem, Consumer<String> problems) {
        values.put(setting, new Value<>(find(setting), raw.text(), raw.source(), ""));
        invalid.add(setting);
        problems.accept(name(setting) + ": " + problem + " (" + raw.source() + ")");
    }

    /**
     * Marks a setting as invalid, because its problem was reported. Its value says nothing then.
     */
    void markInvalid(Setting<?> setting) {
        invalid.add(setting);
    }

    boolean isInvalid(Setting<?> setting) {
        return invalid.contains(setting);
    }

    /**
     * Returns {@code function api} for an entry of {@code functions}, {@code functions[0]} if it
     * has no valid name, and an empty text for the dispatcher and its only function.
     */
    String owner() {
        return owner;
    }

    /** Returns where the value was set, for example a line of the file. */
    String source(Setting<?> setting) {
        return value(setting).source;
    }

    /** Returns {@code function.path}, or {@code function api, path} in a list. */
    private String name(Setting<?> setting) {
        return prefix.isEmpty() ? setting.name() : prefix + setting.lastName();
    }

    String problem(Setting<?> setting, String expected) {
        Value<?> value = value(setting);
        String got = value.text == null
                ? ", but it is not set"
                : ", got " + setting.type().quote(value.text) + " (" + value.source + ")";
        return name(setting) + ": expected " + expected + got;
    }

    Stream<Row> rows(boolean ofFunction) {
        return settings(ofFunction).map(this::row);
    }

    private Stream<Setting<?>> settings(boolean ofFunction) {
        return values.keySet().stream().filter(setting -> setting.isOfFunction() == ofFunction);
    }

    /** Adds the digest of each file that a setting names, even if it cannot be read. */
    void addFiles(Map<Path, String> digests) {
        values.forEach((setting, value) -> {
            String file = value.text == null ? null : setting.type().fileIn(value.text);
            if (file != null) {
                try {
                    digests.put(Path.of(file), value.contents);
                } catch (InvalidPathException e) {
                    // No file can have this name.
                }
            }
        });
    }

    /**
     * Returns these values, except that settings that cannot change keep theirs.
     *
     * @param start the values with which the dispatcher was started
     * @param running the values in force, which an earlier reload may have changed
     * @param restart receives a line for each setting that has another value here
     */
    SettingValues asReloaded(SettingValues start, SettingValues running, boolean ofFunction, Consumer<String> restart) {
        SettingValues next = new SettingValues(this);
        settings(ofFunction)
                .filter(setting -> !Reloadable.canChange(setting, start::state, this::state))
                .forEach(setting -> {
                    SettingValues kept = setting.reloads() ? running : start;
                    if (!value(setting).isSameAs(kept.value(setting))) {
                        restart.accept(difference(kept, setting));
                        next.values.put(setting, kept.value(setting));
                    }
                });
        if (ofFunction) {
            next.keepConcurrency(start, restart);
        }
        return next;
    }

    /** Workers keep the concurrency of the start, even if it follows from memory that changes. */
    private void keepConcurrency(SettingValues start, Consumer<String> restart) {
        Setting<Optional<Concurrency>> setting = FunctionSettings.FUNCTION_WORKER_CONCURRENCY;
        Concurrency kept = FunctionConfiguration.concurrency(start);
        Concurrency changed = FunctionConfiguration.concurrency(this);
        if (!changed.equals(kept)) {
            restart.accept(name(setting) + ": " + kept.streams() + " -> " + changed.streams()
                    + ", which follows from function.worker-memory");
            Value<?> value = value(setting);
            values.put(setting, new Value<>(Optional.of(kept), value.text, value.source, value.contents));
        }
    }

    /** Passes on a line for each setting whose value is another one than {@code before}. */
    void differences(SettingValues before, boolean ofFunction, Consumer<String> lines) {
        settings(ofFunction)
                .filter(setting -> !value(setting).isSameAs(before.value(setting)))
                .forEach(setting -> lines.accept(difference(before, setting)));
    }

    /** How a setting is set. */
    enum State {
        NOT_SET,
        OFF,
        SET
    }

    private State state(Setting<?> setting) {
        return ValueType.OFF.equals(find(setting)) ? State.OFF : isSet(setting) ? State.SET : State.NOT_SET;
    }

    private String difference(SettingValues before, Setting<?> setting) {
        String name = setting.isOfFunction() ? name(setting) : setting.name();
        String from = before.row(setting).value();
        String to = row(setting).value();
        return name + ": " + (from.equals(to) ? to + " with other contents" : from + " -> " + to);
    }

    /**
     * Returns the rows of a route: its function, and the values that differ from those of the
     * function.
     */
    Stream<Row> rowsOfRoute(SettingValues function) {
        Row name = row(FunctionSettings.FUNCTION_NAME);
        return Stream.concat(
                Stream.of(new Row(prefix + ConfigurationLoader.ROUTE_FUNCTION, name.value(), name.source())),
                table.byName().values().stream()
                        .filter(Setting::ofRoutes)
                        .filter(setting -> !value(setting).equals(function.value(setting)))
                        .map(this::row));
    }

    private Row row(Setting<?> setting) {
        Value<?> value = value(setting);
        String shown = value.text == null ? "" : setting.type().show(value.text, value.value);
        return new Row(name(setting), shown.isEmpty() ? "-" : shown, value.source);
    }
}
