package io.lambdadispatcher.server;

import io.lambdadispatcher.server.status.AdminException;
import io.lambdadispatcher.server.status.AdminRequest;
import io.lambdadispatcher.wire.http.PrintableText;
import java.io.PrintWriter;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import picocli.CommandLine.ParseResult;

/** Changes something in a running dispatcher. */
abstract class ChangeCommand extends AdminCommand {
    private static final int UNAUTHORIZED = 401;

    /** @param description the first line says what the command does */
    ChangeCommand(String name, Map<String, String> environment, String... description) {
        super(name, AdminUrl.toChange(environment), description);
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

    static String encoded(String text) {
        return URLEncoder.encode(text, StandardCharsets.UTF_8);
    }

    @Override
    final int run(URI url, AdminRequest port, ParseResult arguments)
            throws WrongUseException, AdminException, InterruptedException {
        URI uri = URI.create(url + target(arguments));
        HttpResponse<byte[]> answer = port.send(HttpRequest.newBuilder(uri).POST(BodyPublishers.noBody()));
        if (answer.statusCode() == 200) {
            PrintWriter out = spec().commandLine().getOut();
            int code = report(answer.body(), out);
            out.flush();
            return code;
        }
        PrintWriter err = spec().commandLine().getErr();
        err.println(PrintableText.of(new String(answer.body(), StandardCharsets.UTF_8).strip()));
        if (answer.statusCode() == UNAUTHORIZED) {
            err.println("Name the file that holds the token with " + AdminUrl.TOKEN_FILE + ".");
        }
        return ExitCode.FAILED;
    }
}
