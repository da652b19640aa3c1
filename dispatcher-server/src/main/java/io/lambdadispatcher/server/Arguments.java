package io.lambdadispatcher.server;

import io.lambdadispatcher.server.config.Setting;
import io.lambdadispatcher.server.config.Settings;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The arguments of a command that takes {@code --config} and a flag for each setting.
 *
 * @param flags values by flag, such as {@code --public-plain-port}
 * @param file value of {@code --config}; {@code null} = not given
 * @param misplaced unknown flags, and arguments that are not flags
 * @param allHelp whether {@code --help-all} is among them
 */
record Arguments(Map<String, String> flags, @Nullable Path file, List<String> misplaced, boolean allHelp) {
    static final String HELP_ALL = "--help-all";
    static final String CONFIG = "--config";
    static final Arguments NONE = new Arguments(Map.of(), null, List.of(), false);

    /**
     * Reads {@code --flag=value} and {@code --flag value}. An argument after an unknown flag is
     * left out, because it may be the value of that flag.
     *
     * @throws AdminCommand.WrongUseException if a flag has no value, or two
     */
    static Arguments of(List<String> words) throws AdminCommand.WrongUseException {
        Map<String, String> flags = new LinkedHashMap<>();
        List<String> misplaced = new ArrayList<>();
        boolean allHelp = false;
        boolean afterUnknownFlag = false;
        for (int i = 0; i < words.size(); i++) {
            String word = words.get(i);
            int equals = word.indexOf('=');
            String flag = equals < 0 ? word : word.substring(0, equals);
            String label = label(flag);
            if (label == null) {
                allHelp |= word.equals(HELP_ALL);
                boolean isFlag = word.startsWith("-");
                if (!word.equals(HELP_ALL) && (isFlag || !afterUnknownFlag)) {
                    misplaced.add(word);
                }
                afterUnknownFlag = isFlag && equals < 0;
                continue;
            }
            afterUnknownFlag = false;
            String next = i + 1 < words.size() ? words.get(i + 1) : null;
            if (equals < 0 && (next == null || next.equals(HELP_ALL) || label(next.split("=", 2)[0]) != null)) {
                throw new AdminCommand.WrongUseException(flag + ": expected " + label + ", got nothing");
            }
            String value = equals < 0 ? words.get(++i) : word.substring(equals + 1);
            if (flags.put(flag, value) != null) {
                throw new AdminCommand.WrongUseException(flag + " (" + label + "): expected once, got twice");
            }
        }
        String file = flags.remove(CONFIG);
        return new Arguments(flags, file == null ? null : Path.of(file), misplaced, allHelp);
    }

    /** Returns what the value of a flag is called in the help; {@code null} = an unknown flag. */
    private static @Nullable String label(String flag) {
        Setting<?> setting = Settings.TABLE.byFlag().get(flag);
        return flag.equals(CONFIG)
                ? "FILE"
                : setting == null ? null : setting.type().label();
    }
}
