package io.lambdadispatcher.server.config;

import java.util.Comparator;
import java.util.List;
import java.util.Set;
import java.util.function.Function;

/** The settings that can change while the dispatcher runs. */
final class Reloadable {
    private static final Set<Setting<?>> SETTINGS = Set.of(
            Settings.PUBLIC_TLS_CERTIFICATE,
            Settings.PUBLIC_TLS_KEY,
            Settings.PUBLIC_TLS_PROFILE,
            Settings.PUBLIC_TLS_CLIENT_CERTIFICATES,
            Settings.WORKERS_TLS_CERTIFICATE,
            Settings.WORKERS_TLS_KEY,
            Settings.WORKERS_TLS_CLIENT_CERTIFICATES,
            Settings.WORKERS_SECRET,
            Settings.WORKERS_SECRET_FILE,
            Settings.FUNCTION_SECRET,
            Settings.FUNCTION_SECRET_FILE,
            Settings.FUNCTION_PATH,
            Settings.FUNCTION_HOST,
            Settings.FUNCTION_HEADER,
            Settings.FUNCTION_WEIGHT,
            Settings.FUNCTION_AFFINITY,
            Settings.FUNCTION_QUEUE_LIMIT,
            Settings.FUNCTION_QUEUE_TIMEOUT,
            Settings.FUNCTION_REQUEST_TIMEOUT,
            Settings.FUNCTION_DEADLINE,
            Settings.FUNCTION_DEADLINE_HEADERS,
            Settings.FUNCTION_MAX_ATTEMPTS,
            Settings.FUNCTION_RETRY_ON,
            Settings.FUNCTION_ATTEMPT_TIMEOUT,
            Settings.FUNCTION_HEDGE_AFTER,
            Settings.FUNCTION_EXTRA_ATTEMPTS,
            Settings.FUNCTION_RATE_LIMIT,
            Settings.FUNCTION_RATE_LIMIT_BURST,
            Settings.FUNCTION_RATE_LIMIT_KEY,
            Settings.FUNCTION_MAX_REQUESTS,
            Settings.FUNCTION_TENANT_HEADER,
            Settings.FUNCTION_MAX_TENANT_REQUESTS,
            Settings.FUNCTION_PRIORITY,
            Settings.FUNCTION_PRIORITY_HEADER,
            Settings.FUNCTION_SHED_DELAY,
            Settings.FUNCTION_SHADOW,
            Settings.FUNCTION_SHADOW_SHARE,
            Settings.FUNCTION_SHADOW_METHODS,
            Settings.FUNCTION_COMPRESSION,
            Settings.FUNCTION_COMPRESSION_TYPES,
            Settings.FUNCTION_COMPRESSION_MIN_SIZE,
            Settings.FUNCTION_BREAKER_ERRORS,
            Settings.FUNCTION_BREAKER_LATENCY,
            Settings.FUNCTION_BREAKER_OPEN,
            Settings.FUNCTION_CACHE,
            Settings.FUNCTION_CACHE_STALE_IF_ERROR,
            Settings.FUNCTION_CACHE_MAX_BODY,
            Settings.FUNCTION_HANDLER,
            Settings.FUNCTION_LAUNCH_TIMEOUT,
            Settings.FUNCTION_MAX_WORKER_AGE,
            Settings.FUNCTION_LAUNCHES_PER_MINUTE,
            Settings.FUNCTION_SPENDING_LIMIT,
            Settings.FUNCTION_WORKER_MEMORY,
            Settings.FUNCTION_VERSION_CHECK,
            Settings.FUNCTION_ROLLOUT,
            Settings.FUNCTION_MIN_WORKERS,
            Settings.FUNCTION_MAX_WORKERS,
            Settings.FUNCTION_DOWNSTREAM_CONNECTIONS,
            Settings.FUNCTION_DOWNSTREAM_CONNECTIONS_PER_WORKER,
            Settings.FUNCTION_WARM_WORKERS,
            Settings.FUNCTION_HEADROOM,
            Settings.FUNCTION_IDLE_AFTER,
            Settings.FUNCTION_SCALE_IN_AFTER,
            Settings.FUNCTION_WARM_ENVIRONMENTS,
            Settings.FUNCTION_SLOW_START,
            Settings.LOCAL_JAVA,
            Settings.LOCAL_JVM_FLAGS,
            Settings.LOCAL_CLASS_PATH,
            Settings.LOCAL_COMMAND,
            Settings.LOCAL_ENVIRONMENT,
            Settings.HTTP_PATH,
            Settings.HTTP_MAX_HEADER_SIZE,
            Settings.HTTP_MAX_CONCURRENT_STREAMS,
            Settings.HTTP_STREAM_WINDOW,
            Settings.HTTP_HEADER_TIMEOUT,
            Settings.HTTP_IDLE_TIMEOUT,
            Settings.HTTP_MAX_CONNECTION_AGE,
            Settings.HTTP_BODY_TIMEOUT,
            Settings.HTTP_WRITE_TIMEOUT,
            Settings.HTTP_MAX_CONNECTIONS,
            Settings.HTTP_MAX_CONNECTIONS_PER_ADDRESS,
            Settings.FORWARDING_HEADERS,
            Settings.FORWARDING_VIA,
            Settings.FORWARDING_CLIENT_HEADER,
            Settings.FORWARDING_TRUSTED_HEADERS,
            Settings.ADMIN_HOSTS,
            Settings.ADMIN_TOKEN,
            Settings.ADMIN_TOKEN_FILE,
            Settings.ADMIN_READ_TOKEN_FILE,
            Settings.ADMIN_TLS_CERTIFICATE,
            Settings.ADMIN_TLS_KEY,
            Settings.LOG_LEVEL,
            Settings.TRACING_RATIO,
            Settings.SHUTDOWN_DELAY,
            Settings.SHUTDOWN_GRACE);

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
            new Group(Settings.WORKERS_SECRET, Settings.WORKERS_SECRET_FILE),
            new Group(Settings.FUNCTION_SECRET, Settings.FUNCTION_SECRET_FILE));

    private Reloadable() {}

    /** Returns whether a reload can change the setting. */
    static boolean contains(Setting<?> setting) {
        return SETTINGS.contains(setting);
    }

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
        return contains(setting)
                && LASTING.stream()
                        .filter(group -> group.settings.contains(setting))
                        .allMatch(group -> group.state(atStart) == group.state(now));
    }
}
