package io.lambdadispatcher.server;

import io.lambdadispatcher.server.top.AdminRequest;
import io.lambdadispatcher.server.top.Top;
import io.lambdadispatcher.server.top.TopException;
import io.lambdadispatcher.server.top.UnixTerminal;
import java.io.IOException;
import java.io.PrintWriter;
import java.net.URI;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import picocli.CommandLine;
import picocli.CommandLine.Model.ArgGroupSpec;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Model.OptionSpec;

/** Shows in the terminal what a running dispatcher does. Runs on the main thread. */
final class TopCommand implements Callable<Integer> {
    private static final String ONCE = "--once";
    private static final String NO_COLOUR = "NO_COLOR";

    private final Map<String, String> environment;
    private final AdminUrl adminUrl;
    private final CommandSpec spec;

    TopCommand(Map<String, String> environment) {
        this.environment = environment;
        adminUrl = new AdminUrl(environment);
        spec = CommandSpec.wrapWithoutInspection(this).name("top");
        spec.usageMessage()
                .description(
                        "Shows what a running dispatcher does now: functions, workers, requests, failures and launches.",
                        "It reads the admin port, which needs a token for that only if admin.read-token-file is set. Press q or Ctrl-C to quit.")
                .width(120)
                .autoWidth(false)
                .sortOptions(false)
                .footer(
                        "",
                        "COLUMNS and LINES override the size of the terminal. " + NO_COLOUR + " switches colours off.",
                        "If the output is not a terminal, its size is 120 columns and 40 lines.");
        spec.addOption(Main.help());
        spec.addArgGroup(group(0, "Dispatcher", adminUrl.options()));
        spec.addArgGroup(group(
                1,
                "Output",
                List.of(OptionSpec.builder(ONCE)
                        .type(boolean.class)
                        .description(
                                "Prints one screen as plain text and exits. This is also what happens if the output is"
                                        + " not a terminal.")
                        .build())));
    }

    private static ArgGroupSpec group(int order, String title, List<OptionSpec> options) {
        ArgGroupSpec.Builder group = ArgGroupSpec.builder()
                .heading("%n" + title + ":%n")
                .validate(false)
                .order(order);
        options.forEach(group::addArg);
        return group.build();
    }

    CommandSpec spec() {
        return spec;
    }

    @Override
    public Integer call() throws IOException, InterruptedException {
        CommandLine line = spec.commandLine();
        URI url = adminUrl.given(line);
        if (url == null) {
            return ExitCode.USAGE;
        }
        try {
            AdminRequest port = adminUrl.port(line.getParseResult());
            run(url, port, line.getParseResult().hasMatchedOption(ONCE), line.getOut());
            return ExitCode.OK;
        } catch (ChangeCommand.WrongUseException e) {
            line.getErr().println(e.getMessage());
            return ExitCode.USAGE;
        } catch (TopException e) {
            line.getErr().println(e.getMessage());
            return ExitCode.FAILED;
        }
    }

    private void run(URI url, AdminRequest port, boolean once, PrintWriter out)
            throws TopException, IOException, InterruptedException {
        UnixTerminal terminal = new UnixTerminal(environment);
        Top top = new Top(
                url,
                port,
                terminal,
                out,
                environment.getOrDefault(NO_COLOUR, "").isEmpty());
        if (once || !terminal.isPresent()) {
            top.once();
        } else {
            Runtime.getRuntime().addShutdownHook(new Thread(top::leave, "top-leave"));
            top.live();
        }
    }
}
