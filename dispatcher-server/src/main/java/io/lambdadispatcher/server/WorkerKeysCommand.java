package io.lambdadispatcher.server;

import io.lambdadispatcher.server.config.Configuration;
import io.lambdadispatcher.server.config.FunctionConfiguration;
import io.lambdadispatcher.server.config.Settings;
import io.lambdadispatcher.wire.worker.LaunchToken;
import java.io.PrintWriter;
import java.util.EnumSet;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;

/**
 * Prints the function keys, one line for each function that has a secret. A self-launched worker
 * can hold this key instead of the secret.
 */
final class WorkerKeysCommand extends SettingsCommand {
    WorkerKeysCommand(Map<String, String> environment) {
        super(
                "worker-keys",
                "Prints the key of each function, for self-launched workers. They have it in"
                        + " LAMBDA_DISPATCHER_FUNCTION_KEY.",
                EnumSet.of(BasicSetting.FUNCTION, BasicSetting.SECRET),
                Map.of(),
                environment);
    }

    @Override
    int run(Configuration configuration, PrintWriter out) throws StartException {
        List<byte[]> common = configuration.find(Settings.WORKERS_SECRET, Settings.WORKERS_SECRET_FILE);
        for (FunctionConfiguration function : configuration.functions()) {
            List<byte[]> secrets = function.secrets() == null ? common : function.secrets();
            if (secrets != null) {
                String name = function.options().name();
                out.println(name + " " + HexFormat.of().formatHex(LaunchToken.key(secrets.get(0), name)));
            }
        }
        out.flush();
        return ExitCode.OK;
    }
}
