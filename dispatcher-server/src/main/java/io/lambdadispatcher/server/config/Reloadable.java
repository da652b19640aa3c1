package io.lambdadispatcher.server.config;

import java.util.Comparator;
import java.util.List;
import java.util.function.Function;

/** Which settings a reload can change. */
final class Reloadable {
    /**
     * @param begins settings one of which turns on what the group is for
     * @param settings all of the group
     */
    private record Group(List<Setting<?>> begins, List<Setting<?>> settings) {
        Group(Setting<?>... all) {
            this(List.of(all), List.of(all));
        }

        SettingValues.State state(Function<Setting<?>, SettingValues.State> of) {
            return begins.stream().map(of).max(Comparator.naturalOrder()).orElseThrow();
        }
    }

    private static final List<Group> LASTING = List.of(
            new Group(
                    List.of(Settings.PUBLIC_TLS_CERTIFICATE),
                    List.of(
                            Settings.PUBLIC_TLS_CERTIFICATE,
                            Settings.PUBLIC_TLS_KEY,
                            Settings.PUBLIC_TLS_CLIENT_CERTIFICATES)),
            new Group(
                    List.of(Settings.WORKERS_TLS_CERTIFICATE),
                    List.of(
                            Settings.WORKERS_TLS_CERTIFICATE,
                            Settings.WORKERS_TLS_KEY,
                            Settings.WORKERS_TLS_CLIENT_CERTIFICATES)),
            new Group(
                    List.of(Settings.ADMIN_TLS_CERTIFICATE),
                    List.of(Settings.ADMIN_TLS_CERTIFICATE, Settings.ADMIN_TLS_KEY)),
            new Group(Settings.WORKERS_SECRET),
            new Group(FunctionSettings.FUNCTION_SECRET));

    private Reloadable() {}

    /**
     * Returns whether this reload can change the setting. TLS of a port, and secrets, can change
     * but not begin or end while the dispatcher runs.
     *
     * @param atStart tells how a setting was set when the dispatcher started: {@link
     *     SettingValues#state}
     * @param now tells it of the configuration to be reloaded
     */
    static boolean canChange(
            Setting<?> setting,
            Function<Setting<?>, SettingValues.State> atStart,
            Function<Setting<?>, SettingValues.State> now) {
        return setting.reloads()
                && LASTING.stream()
                        .filter(group -> group.settings.contains(setting))
                        .allMatch(group -> group.state(atStart) == group.state(now));
    }
}
