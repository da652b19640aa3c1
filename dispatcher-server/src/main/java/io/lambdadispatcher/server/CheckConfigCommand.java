package io.lambdadispatcher.server;

import io.lambdadispatcher.server.config.Configuration;
import io.lambdadispatcher.server.config.FunctionConfiguration;
import java.io.PrintWriter;
import java.util.EnumSet;
import java.util.Map;

/** Prints all settings with their values and sources, or every error in them. */
final class CheckConfigCommand extends SettingsCommand {
    CheckConfigCommand(Map<String, String> environment) {
        super(
                "check-config",
                "Prints all settings with their values and sources, or all errors.",
                EnumSet.allOf(BasicSetting.class),
                Map.of(),
                environment);
    }

    @Override
    int run(Configuration configuration, PrintWriter out) {
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
