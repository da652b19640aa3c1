package io.lambdadispatcher.server;

import io.lambdadispatcher.server.config.Settings;
import io.lambdadispatcher.server.top.AdminRequest;
import io.lambdadispatcher.server.top.TopException;
import io.lambdadispatcher.wire.http.PrintableText;
import java.io.PrintWriter;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.concurrent.Callable;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParseResult;

/** Changes something in a running dispatcher, through its admin port. Runs on the main thread. */
abstract class ChangeCommand implements Callable<Integer> {
    private static final int UNAUTHORIZED = 401;

    private final AdminUrl adminUrl;
    private final CommandSpec spec;

    /** @param description the first line says what the command does */
    ChangeCommand(String name, Map<String, String> environment, String... description) {
        adminUrl = new AdminUrl(environment);
        spec = CommandSpec.wrapWithoutInspection(this).name(name);
        spec.usageMessage()
                .description(description)
                .width(120)
                .autoWidth(false)
                .sortOptions(false)
                .footer(
                        "",
                        "Without " + AdminUrl.TOKEN_FILE + ", the token is in " + Settings.ADMIN_TOKEN.variable()
                                + ", or in the file that " + Settings.ADMIN_TOKEN_FILE.variable() + " names.");
        spec.addOption(Main.help());
        adminUrl.options().forEach(spec::addOption);
    }

    CommandSpec spec() {
        return spec;
    }

    /**
     * Returns the path and the query of the request that makes the change.
     *
     * @throws WrongUseException if the arguments contradict each other
     */
    abstract String target(ParseResult arguments) throws WrongUseException;

    /**
     * Prints the answer to a request that has succeeded.
     *
     * @return the exit code
     */
    abstract int report(byte[] answer, PrintWriter out);

    /** Thrown if arguments are wrong. The message says what was expected, in one line. */
    static final class WrongUseException extends Exception {
        private static final long serialVersionUID = 1;

        WrongUseException(String message) {
            super(message);
        }
    }

    static String encoded(String text) {
        return URLEncoder.encode(text, StandardCharsets.UTF_8);
    }

    @Override
    public Integer call() throws InterruptedException {
        PrintWriter err = spec.commandLine().getErr();
        URI url = adminUrl.given(spec.commandLine());
        if (url == null) {
            return ExitCode.USAGE;
        }
        try {
            ParseResult arguments = spec.commandLine().getParseResult();
            String target = target(arguments);
            return send(URI.create(url.toString().replaceFirst("/+$", "") + target), adminUrl.port(arguments));
        } catch (WrongUseException e) {
            err.println(e.getMessage());
            return ExitCode.USAGE;
        } catch (TopException e) {
            err.println(e.getMessage());
            return ExitCode.FAILED;
        }
    }

    private int send(URI uri, AdminRequest port) throws TopException, InterruptedException {
        HttpResponse<byte[]> answer =
                port.send(HttpRequest.newBuilder(uri).POST(BodyPublishers.noBody()), BodyHandlers.ofByteArray());
        if (answer.statusCode() == 200) {
            PrintWriter out = spec.commandLine().getOut();
            int code = report(answer.body(), out);
            out.flush();
            return code;
        }
        PrintWriter err = spec.commandLine().getErr();
        err.println(PrintableText.of(new String(answer.body(), StandardCharsets.UTF_8).strip()));
        if (answer.statusCode() == UNAUTHORIZED) {
            err.println("Name the file that holds the token with " + AdminUrl.TOKEN_FILE + ".");
        }
        return ExitCode.FAILED;
    }
}
