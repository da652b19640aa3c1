package io.lambdadispatcher.server;

import io.lambdadispatcher.server.status.AdminException;
import io.lambdadispatcher.server.status.AdminRequest;
import io.lambdadispatcher.server.status.Status;
import io.lambdadispatcher.server.status.TerminalSize;
import java.io.PrintWriter;
import java.net.URI;
import java.time.Clock;
import java.util.Map;
import picocli.CommandLine.Model.OptionSpec;
import picocli.CommandLine.ParseResult;

/** Prints what a running dispatcher does. */
final class StatusCommand extends AdminCommand {
    private static final String WATCH = "--watch";
    private static final long PERIOD_MILLIS = 2000;

    private final Map<String, String> environment;

    StatusCommand(Map<String, String> environment) {
        super(
                "status",
                AdminUrl.toRead(environment),
                "Prints what a running dispatcher does now.",
                "It has the tables of the live page, and warnings of what needs attention.",
                "COLUMNS and LINES override the size of the terminal.");
        this.environment = environment;
        spec().addOption(OptionSpec.builder(WATCH)
                .type(boolean.class)
                .description("Prints again every 2 s, until Ctrl-C.")
                .build());
    }

    @Override
    int run(URI url, AdminRequest port, ParseResult arguments) throws AdminException, InterruptedException {
        PrintWriter out = spec().commandLine().getOut();
        Status status = new Status(url, port, () -> TerminalSize.ofOutput(environment), Clock.systemUTC(), out);
        if (arguments.hasMatchedOption(WATCH)) {
            status.watch(() -> {
                Thread.sleep(PERIOD_MILLIS);
                // Nobody reads any more, for example after: | head
                return !out.checkError() && !System.out.checkError();
            });
        } else {
            status.print();
        }
        return ExitCode.OK;
    }
}
