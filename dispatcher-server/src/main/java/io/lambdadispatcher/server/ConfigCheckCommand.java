package io.lambdadispatcher.server;

import io.lambdadispatcher.server.config.Configuration;
import io.lambdadispatcher.server.config.ConfigurationException;
import io.lambdadispatcher.server.config.FunctionConfiguration;
import io.lambdadispatcher.server.config.Settings;
import java.io.PrintWriter;
import java.util.EnumSet;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Prints all settings with their values and sources, or every error in them. */
final class ConfigCheckCommand extends SettingsCommand {
    private final Runnable region;

    /** @param region fails if the AWS SDK knows no region, as if a dispatcher started */
    ConfigCheckCommand(Map<String, String> environment, Runnable region) {
        super(
                "config check",
                "Prints all settings with their values and sources, or all errors.",
                EnumSet.allOf(BasicSetting.class),
                Map.of(),
                environment);
        this.region = region;
    }

    /** Returns what needs a region; {@code null} = nothing does. */
    private static @Nullable String needsRegion(Configuration configuration) {
        if (configuration.find(Settings.FLEET_TABLE) != null && configuration.fleetFile() == null) {
            return "fleet.table";
        }
        boolean calls = configuration.functions().stream()
                .anyMatch(function ->
                        function.launcher() == FunctionConfiguration.Launcher.LAMBDA || function.direct() != null);
        return calls ? "launcher lambda" : null;
    }

    @Override
    int run(Configuration configuration, PrintWriter out, PrintWriter err)
            throws ConfigurationException, StartException {
        StartFiles.check(configuration);
        String what = needsRegion(configuration);
        if (what != null && configuration.find(Settings.AWS_REGION) == null) {
            try {
                region.run();
            } catch (RuntimeException e) {
                throw DispatcherAssembly.failed(what, e);
            }
        }
        out.print(configuration.report());
        for (FunctionConfiguration function : configuration.functions()) {
            String shares = StartupReport.downstream(function.options().capacity());
            if (!shares.isEmpty()) {
                out.println("# " + function.options().name() + ": " + shares);
            }
        }
        out.flush();
        return ExitCode.OK;
    }
}
