package io.lambdadispatcher.worker.adapter.web;

import io.lambdadispatcher.wire.http.PrintableText;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.HttpURLConnection;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Runs the worker as an external extension of a Lambda function whose main process is a web
 * application. It registers with Lambda (AWS Lambda developer guide, Extensions API). Then it runs
 * AWS's Java runtime client, which takes the invocations, because the application does not ask for
 * any. The script {@code /opt/extensions/lambda-dispatcher} starts it.
 *
 * <p>The exit code is 1 if the registration fails. Otherwise, it is that of the runtime client.
 */
public final class ExtensionMain {
    private static final String NAME = "lambda-dispatcher";
    private static final String API = "/2020-01-01/extension/";
    private static final String IDENTIFIER = "Lambda-Extension-Identifier";
    private static final String RUNTIME_CLIENT = "com.amazonaws.services.lambda.runtime.api.client.AWSLambda";
    private static final String HANDLER = "io.lambdadispatcher.worker.LambdaHandler";

    private static final Logger log = LoggerFactory.getLogger(ExtensionMain.class);

    private ExtensionMain() {}

    /**
     * Registers the extension, then runs the runtime client on the calling thread.
     *
     * @param args ignored
     * @throws Exception if the runtime client cannot be loaded or fails
     */
    public static void main(String[] args) throws Exception {
        String api = System.getenv("AWS_LAMBDA_RUNTIME_API");
        String identifier;
        try {
            identifier = register(api);
        } catch (IOException | IllegalArgumentException e) {
            log.error("cannot register as an extension at {}: {}", api, PrintableText.ofFailure(e));
            System.exit(1);
            return;
        }
        Thread next = new Thread(() -> awaitNext(api, identifier), "extension-next");
        next.setDaemon(true);
        next.start();
        Class.forName(RUNTIME_CLIENT).getMethod("main", String[].class).invoke(null, (Object) new String[] {HANDLER});
    }

    /** Registers for no events, because the runtime client takes the invocations. */
    private static String register(String api) throws IOException {
        HttpURLConnection call = open(api, "register");
        call.setRequestMethod("POST");
        call.setRequestProperty("Lambda-Extension-Name", NAME);
        call.setRequestProperty("Content-Type", "application/json");
        call.setDoOutput(true);
        try (OutputStream body = call.getOutputStream()) {
            body.write("{\"events\":[]}".getBytes(StandardCharsets.US_ASCII));
        }
        int status = call.getResponseCode();
        String identifier = call.getHeaderField(IDENTIFIER);
        if (status != HttpURLConnection.HTTP_OK || identifier == null) {
            throw new IOException(
                    "status " + status + " and identifier " + identifier + ", expected 200 and an identifier");
        }
        return identifier;
    }

    /**
     * Tells Lambda that this extension is initialised. The call then blocks, because no event
     * comes.
     */
    static void awaitNext(String api, String identifier) {
        try {
            HttpURLConnection call = open(api, "event/next");
            call.setRequestProperty(IDENTIFIER, identifier);
            int status = call.getResponseCode();
            // An error without a body has no stream.
            try (InputStream body = status < 400 ? call.getInputStream() : call.getErrorStream()) {
                int bytes = body == null ? 0 : body.readAllBytes().length;
                log.debug("the extension's next event: status {}, {} bytes", status, bytes);
            }
        } catch (IOException e) {
            log.debug("no more events for the extension", e);
        }
    }

    private static HttpURLConnection open(String api, String path) throws IOException {
        return (HttpURLConnection)
                URI.create("http://" + api + API + path).toURL().openConnection();
    }
}
