package io.lambdadispatcher.server;

import io.lambdadispatcher.server.config.FunctionSettings;
import io.lambdadispatcher.server.config.Setting;
import io.lambdadispatcher.server.config.Settings;
import java.util.Map;

/** A setting that many people set. {@code --help} shows it in one line. */
enum BasicSetting {
    PLAIN_PORT(Settings.PUBLIC_PLAIN_PORT, "PORT", "Port for clients without TLS"),
    TLS_PORT(Settings.PUBLIC_TLS_PORT, "PORT", "Port for clients with TLS"),
    CERTIFICATE(Settings.PUBLIC_TLS_CERTIFICATE, "FILE", "Certificate chain of the TLS port, PEM"),
    KEY(Settings.PUBLIC_TLS_KEY, "FILE", "Private key of the TLS port, PEM"),
    WORKERS_PORT(Settings.WORKERS_PORT, "PORT", "Port that workers connect to"),
    SECRET(Settings.WORKERS_SECRET, "file:FILE", "Secret that authenticates workers"),
    FUNCTION(FunctionSettings.FUNCTION_NAME, "NAME", "Name of the function"),
    LAUNCHER(FunctionSettings.FUNCTION_LAUNCHER, "NAME", "external, local or lambda"),
    LAMBDA(FunctionSettings.FUNCTION_LAMBDA, "LAMBDA", "Lambda function of the workers"),
    CONCURRENCY(FunctionSettings.FUNCTION_WORKER_CONCURRENCY, "N", "Concurrency of a worker"),
    MIN_WORKERS(FunctionSettings.FUNCTION_MIN_WORKERS, "N", "Minimum number of workers"),
    MAX_WORKERS(FunctionSettings.FUNCTION_MAX_WORKERS, "N", "Maximum number of workers"),
    REQUEST_TIMEOUT(FunctionSettings.FUNCTION_WORKER_TIMEOUT, "TIME", "Maximum time of a response"),
    QUEUE_TIMEOUT(FunctionSettings.FUNCTION_QUEUE_TIMEOUT, "TIME", "Maximum time in the queue"),
    SPENDING(FunctionSettings.FUNCTION_SPENDING_LIMIT, "N", "GB-seconds of workers per hour"),
    FLEET(Settings.FLEET_TABLE, "TABLE", "DynamoDB table of the fleet"),
    ADMIN_PORT(Settings.ADMIN_PORT, "PORT", "Port of the live page"),
    ADMIN_TOKENS(Settings.ADMIN_TOKEN, "file:FILE", "Tokens that allow changes"),
    LOG_LEVEL(Settings.LOG_LEVEL, "LEVEL", "error to trace"),
    GRACE(Settings.SHUTDOWN_GRACE, "TIME", "Time to finish after SIGTERM");

    private final Setting<?> setting;
    private final String value;
    private final String phrase;

    /**
     * @param value stands for the value
     * @param phrase says in a few words what the setting is
     */
    BasicSetting(Setting<?> setting, String value, String phrase) {
        this.setting = setting;
        this.value = value;
        this.phrase = phrase;
    }

    /** @param defaults of the command, which override those of the settings */
    String help(Map<Setting<?>, String> defaults) {
        String byDefault = defaults.getOrDefault(setting, setting.defaultText());
        return String.format(
                "%-31s  %s%s",
                setting.flag() + "=" + value,
                phrase,
                byDefault == null || byDefault.isEmpty() ? "" : " (default: " + byDefault + ")");
    }
}
