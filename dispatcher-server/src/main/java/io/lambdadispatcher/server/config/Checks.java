package io.lambdadispatcher.server.config;

import java.util.Arrays;
import java.util.function.Consumer;

/**
 * Rules between settings, either of the dispatcher, or of one function or route. A rule that
 * depends on a value that was refused is not checked, so that one mistake is reported once.
 */
abstract class Checks {
    final SettingValues dispatcher;
    final SettingValues checked;
    final boolean complete;
    final Consumer<String> problems;

    Checks(SettingValues dispatcher, SettingValues checked, boolean complete, Consumer<String> problems) {
        this.dispatcher = dispatcher;
        this.checked = checked;
        this.complete = complete;
        this.problems = problems;
    }

    /** @param read settings whose values the rule depends on */
    final void require(boolean holds, Setting<?> setting, String expected, Setting<?>... read) {
        if (!holds && Arrays.stream(read).allMatch(this::isKnown)) {
            problems.accept(checked.problem(setting, expected));
        }
    }

    /**
     * Returns whether the value is what was meant: it was not refused, and it is no default if a
     * name may be misspelt.
     */
    private boolean isKnown(Setting<?> setting) {
        SettingValues values = setting.isOfFunction() ? checked : dispatcher;
        return !values.isInvalid(setting) && (complete || !values.isDefault(setting));
    }
}
