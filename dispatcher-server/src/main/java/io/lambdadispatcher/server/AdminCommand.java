package io.lambdadispatcher.server;

import io.lambdadispatcher.server.status.AdminException;
import io.lambdadispatcher.server.status.AdminRequest;
import java.net.URI;
import java.util.concurrent.Callable;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParseResult;

/** A command for a running dispatcher, through its admin port. Runs on the main thread. */
abstract class AdminCommand implements Callable<Integer> {
    private final AdminUrl adminUrl;
    private final CommandSpec spec;

    /** @param description the first line says what the command does */
    AdminCommand(String name, AdminUrl adminUrl, String... description) {
        this.adminUrl = adminUrl;
        spec = CommandSpec.wrapWithoutInspection(this).name(name);
        spec.usageMessage()
                .description(description)
                .autoWidth(false)
                .sortOptions(false)
                .abbreviateSynopsis(true)
                .footer(
                        "",
                        "Without " + AdminUrl.TOKEN_FILE + ", the token is "
                                + String.join(" or ", adminUrl.tokenVariables()) + ",",
                        "or in the first line of its file.");
        spec.addOption(Commands.help());
        adminUrl.options().forEach(spec::addOption);
    }

    final CommandSpec spec() {
        return spec;
    }

    /** Thrown if arguments are wrong. The message says what was expected, in one line. */
    static final class WrongUseException extends Exception {
        private static final long serialVersionUID = 1;

        WrongUseException(String message) {
            super(message);
        }
    }

    /**
     * Runs the command.
     *
     * @param url the admin port, without a slash at the end
     * @param port sends requests to it
     * @return the exit code
     * @throws WrongUseException if the arguments contradict each other
     * @throws AdminException if the dispatcher does not answer
     */
    abstract int run(URI url, AdminRequest port, ParseResult arguments)
            throws WrongUseException, AdminException, InterruptedException;

    @Override
    public final Integer call() throws InterruptedException {
        try {
            ParseResult arguments = spec.commandLine().getParseResult();
            return run(adminUrl.given(arguments), adminUrl.port(arguments), arguments);
        } catch (WrongUseException e) {
            spec.commandLine().getErr().println(e.getMessage());
            return ExitCode.USAGE;
        } catch (AdminException e) {
            spec.commandLine().getErr().println(e.getMessage());
            return ExitCode.FAILED;
        }
    }
}
