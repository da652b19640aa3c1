package io.lambdadispatcher.aws;

import io.lambdadispatcher.core.spi.WorkerLauncher.Cause;
import io.lambdadispatcher.core.spi.WorkerLauncher.WorkerExit;
import io.lambdadispatcher.wire.event.Json;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.Map;
import java.util.concurrent.CompletionException;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;
import software.amazon.awssdk.services.lambda.model.InvokeResponse;
import software.amazon.awssdk.services.lambda.model.LambdaException;
import software.amazon.awssdk.services.lambda.model.TooManyRequestsException;

/**
 * What the end of a worker's invoke means.
 *
 * <table> <caption>By result</caption> <tr><td>200 without FunctionError</td><td>ENDED: the
 * worker's summary</td></tr> <tr><td>200 with FunctionError: it threw, exited or timed
 * out</td><td>FAILED, with error type, message and the log's last line</td></tr> <tr><td>429,
 * whatever its reason; 502 EC2ThrottledException</td><td>THROTTLED</td></tr> <tr><td>409: the
 * function is being changed, or a snapshot is not ready</td><td>FAILED</td></tr> <tr><td>other 4xx:
 * no such function, no permission, bad request</td><td>REFUSED</td></tr> <tr><td>5xx, no
 * connection, no credentials</td><td>FAILED</td></tr> </table>
 */
final class InvokeOutcome {
    private static final int LONGEST_DETAIL = 400;

    private InvokeOutcome() {}

    static WorkerExit of(InvokeResponse response) {
        // The SDK's own decoding throws where bytes are not UTF-8, which would cost the outcome.
        byte[] payload =
                response.payload() == null ? new byte[0] : response.payload().asByteArrayUnsafe();
        // What a runtime says when it is killed is not always JSON.
        Map<String, ?> members = Json.readObject(payload);
        if (response.functionError() == null) {
            Object reason = members.get("reason");
            Object requests = members.get("requests");
            return new WorkerExit(
                    Cause.ENDED,
                    oneLine((reason == null ? "returned" : reason)
                            + (requests == null ? "" : " after " + requests + " requests")));
        }
        Object type = members.get("errorType");
        Object message = members.get("errorMessage");
        String lastWords = lastLogLine(response.logResult());
        return new WorkerExit(
                Cause.FAILED,
                oneLine(response.functionError() + ": " + (type == null ? "" : type + ": ")
                                + (message == null ? new String(payload, StandardCharsets.UTF_8) : message))
                        + (lastWords.isEmpty() ? "" : "; last log line: " + oneLine(lastWords)));
    }

    static WorkerExit of(Throwable error) {
        Throwable cause = error instanceof CompletionException && error.getCause() != null ? error.getCause() : error;
        if (cause instanceof TooManyRequestsException throttled) {
            return new WorkerExit(Cause.THROTTLED, oneLine(throttled.reasonAsString() + ": " + throttled.getMessage()));
        }
        if (cause instanceof LambdaException answer) {
            return new WorkerExit(ofStatus(answer), oneLine(String.valueOf(answer.getMessage())));
        }
        String what = cause instanceof TimeoutException ? "timed out: " : "";
        return new WorkerExit(Cause.FAILED, oneLine(what + cause));
    }

    private static Cause ofStatus(LambdaException answer) {
        int status = answer.statusCode();
        String code =
                answer.awsErrorDetails() == null ? "" : answer.awsErrorDetails().errorCode();
        if (status == 429 || "EC2ThrottledException".equals(code)) {
            return Cause.THROTTLED;
        }
        return status >= 400 && status < 500 && status != 409 ? Cause.REFUSED : Cause.FAILED;
    }

    private static String lastLogLine(@Nullable String base64) {
        if (base64 == null || base64.isEmpty()) {
            return "";
        }
        String last = "";
        for (String line : decoded(base64).split("\n")) {
            boolean lambdasOwn = line.startsWith("START ") || line.startsWith("END ") || line.startsWith("REPORT ");
            if (!lambdasOwn && !line.isBlank()) {
                last = line;
            }
        }
        return last;
    }

    /** Its loss must not cost the outcome. */
    private static String decoded(String base64) {
        try {
            return new String(Base64.getMimeDecoder().decode(base64), StandardCharsets.UTF_8);
        } catch (IllegalArgumentException e) {
            return "";
        }
    }

    private static String oneLine(String text) {
        String line = text.replaceAll("\\s+", " ").strip();
        return line.length() <= LONGEST_DETAIL ? line : line.substring(0, LONGEST_DETAIL) + "…";
    }
}
