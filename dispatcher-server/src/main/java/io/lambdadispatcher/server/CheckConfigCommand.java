package io.lambdadispatcher.server;

import io.lambdadispatcher.server.config.Configuration;
import io.lambdadispatcher.server.config.FunctionConfiguration;
import io.lambdadispatcher.server.config.Settings;
import java.io.PrintWriter;
import java.util.EnumSet;
import java.util.Map;

/** Prints all settings with their values and sources, or every error in them. */
final class CheckConfigCommand extends SettingsCommand {
    private final Map<String, String> environment;

    CheckConfigCommand(Map<String, String> environment) {
        super(
                "check-config",
                "Prints all settings with their values and sources, or all errors.",
                EnumSet.allOf(BasicSetting.class),
                Map.of(),
                environment);
        this.environment = environment;
    }

    private static boolean needsAws(Configuration configuration) {
        return configuration.find(Settings.FLEET_TABLE) != null && configuration.fleetFile() == null
                || configuration.functions().stream()
                        .anyMatch(function -> function.launcher() == FunctionConfiguration.Launcher.LAMBDA
                                || function.direct() != null);
    }

    @Override
    int run(Configuration configuration, PrintWriter out, PrintWriter err) {
        out.print(configuration.report());
        for (FunctionConfiguration function : configuration.functions()) {
            String shares = StartupReport.downstream(function.options().capacity());
            if (!shares.isEmpty()) {
                out.println("# " + function.options().name() + ": " + shares);
            }
        }
        if (needsAws(configuration)
                && configuration.find(Settings.AWS_REGION) == null
                && !environment.containsKey("AWS_REGION")) {
            out.println(
                    "# aws.region is not set here, and AWS_REGION neither. If the AWS SDK finds no region in a profile"
                            + " or on the machine, the dispatcher does not start.");
        }
        out.flush();
        return ExitCode.OK;
    }
}
