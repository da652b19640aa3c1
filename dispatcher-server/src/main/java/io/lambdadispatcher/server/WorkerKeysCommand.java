package io.lambdadispatcher.server;

import io.lambdadispatcher.core.options.TlsOptions;
import io.lambdadispatcher.server.config.Configuration;
import io.lambdadispatcher.server.config.FunctionConfiguration;
import io.lambdadispatcher.server.config.Settings;
import io.lambdadispatcher.wire.worker.LaunchToken;
import io.lambdadispatcher.wire.worker.PortKey;
import java.io.PrintWriter;
import java.security.PublicKey;
import java.util.EnumSet;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Prints the function keys, one line for each function that has a secret, and the fingerprints of
 * the worker port's public keys. An external worker can hold these instead of the secret.
 */
final class WorkerKeysCommand extends SettingsCommand {
    WorkerKeysCommand(Map<String, String> environment) {
        super(
                "worker keys",
                "Prints the name and the key of each function. Give the key to an external worker in"
                        + " LAMBDA_DISPATCHER_FUNCTION_KEY. The last line is another variable for it, which names"
                        + " the worker port's public key.",
                EnumSet.of(BasicSetting.FUNCTION, BasicSetting.SECRET),
                Map.of(),
                environment);
    }

    @Override
    int run(Configuration configuration, PrintWriter out, PrintWriter err) throws StartException {
        List<byte[]> common = configuration.find(Settings.WORKERS_SECRET);
        for (FunctionConfiguration function : configuration.functions()) {
            List<byte[]> secrets = function.secrets() == null ? common : function.secrets();
            if (secrets != null) {
                String name = function.options().name();
                out.println(name + " " + HexFormat.of().formatHex(LaunchToken.key(secrets.get(0), name)));
            }
        }
        String fingerprints = fingerprints(configuration, common);
        if (!fingerprints.isEmpty()) {
            out.println("LAMBDA_DISPATCHER_TLS_FINGERPRINT=" + fingerprints);
        }
        out.flush();
        return ExitCode.OK;
    }

    private static String fingerprints(Configuration configuration, @Nullable List<byte[]> secrets) {
        TlsOptions files = configuration.workerTls();
        Stream<PublicKey> keys = Stream.empty();
        if (files != null) {
            keys = Stream.of(files.load().chain().get(0).getPublicKey());
        } else if (secrets != null && !configuration.hasPlainWorkers()) {
            keys = secrets.stream().map(secret -> PortKey.of(secret).getPublic());
        }
        return keys.map(PortKey::fingerprint).collect(Collectors.joining(","));
    }
}
