package io.lambdadispatcher.aws;

import io.lambdadispatcher.core.spi.WorkerLauncher.Cause;
import io.lambdadispatcher.core.spi.WorkerLauncher.WorkerExit;
import io.lambdadispatcher.wire.event.Json;
import io.lambdadispatcher.wire.http.PrintableText;
import java.net.ConnectException;
import java.net.NoRouteToHostException;
import java.net.UnknownHostException;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.CompletionException;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;
import software.amazon.awssdk.services.lambda.model.InvokeResponse;
import software.amazon.awssdk.services.lambda.model.LambdaException;
import software.amazon.awssdk.services.lambda.model.TooManyRequestsException;

/**
 * Translates the end of a worker's invocation into a {@link WorkerExit}. Errors of {@code Invoke}
 * mean what the reference of AWS Lambda's API says of them; the table is in {@link #ofCode}:
 *
 * <ul>
 *   <li>200 without FunctionError: ENDED, with the worker's summary.
 *   <li>200 with FunctionError: FAILED, with error type, message and the log's last line. The
 *       function threw an exception, exited or timed out.
 *   <li>No capacity: THROTTLED.
 *   <li>AWS still prepares the function or its network: NOT_READY.
 *   <li>It fails until somebody changes the configuration: REFUSED. So does an unknown 4xx.
 *   <li>All other errors: FAILED.
 *   <li>Nothing was sent, for example because there is no connection: UNAVAILABLE.
 *   <li>No response: LOST, because the invocation may have begun.
 * </ul>
 */
final class InvokeOutcome {
    private static final int MAX_CAUSES = 20;

    private InvokeOutcome() {}

    static WorkerExit of(InvokeResponse response) {
        // The SDK's own decoding throws if the bytes are not UTF-8, and the outcome would be lost.
        byte[] payload =
                response.payload() == null ? new byte[0] : response.payload().asByteArrayUnsafe();
        // A runtime that is killed does not always write JSON.
        Map<String, ?> members = Json.readObject(payload);
        if (response.functionError() == null) {
            Object reason = members.get("reason");
            Object requests = members.get("requests");
            return new WorkerExit(
                    Cause.ENDED,
                    oneLine((reason == null ? "returned" : reason)
                            + (requests == null ? "" : " after " + requests + " requests")));
        }
        String message =
                members.get("errorMessage") == null ? new String(payload, StandardCharsets.UTF_8) : messages(members);
        String lastWords = lastLogLine(response.logResult());
        return new WorkerExit(
                Cause.FAILED,
                PrintableText.ofFailure(oneLine(response.functionError() + ": " + message))
                        + (lastWords.isEmpty() ? "" : "; last log line: " + oneLine(lastWords)));
    }

    /**
     * Returns type and message of an error, and of its causes, which AWS's runtime for Java writes.
     */
    private static String messages(Map<String, ?> error) {
        StringBuilder text = new StringBuilder();
        Object each = error;
        for (int i = 0; each instanceof Map<?, ?> members && i < MAX_CAUSES; i++) {
            Object message = String.valueOf(members.get("errorMessage"));
            if (text.indexOf(message.toString()) < 0) {
                text.append(text.isEmpty() ? "" : ": ")
                        .append(members.get("errorType") == null ? "" : members.get("errorType") + ": ")
                        .append(message);
            }
            each = members.get("cause");
        }
        return text.toString();
    }

    /** Returns the failure of a stage that another stage may have wrapped. */
    static Throwable unwrapped(Throwable error) {
        return error instanceof CompletionException && error.getCause() != null ? error.getCause() : error;
    }

    static WorkerExit of(Throwable error) {
        Throwable cause = unwrapped(error);
        if (cause instanceof TooManyRequestsException throttled) {
            return new WorkerExit(
                    Cause.THROTTLED, oneLine(throttled.reasonAsString() + ": " + PrintableText.ofFailure(throttled)));
        }
        if (cause instanceof LambdaException answer) {
            return new WorkerExit(cause(answer), oneLine(PrintableText.ofFailure(answer)));
        }
        String what = cause instanceof TimeoutException ? "timed out: " : "";
        return new WorkerExit(
                isWithoutConnection(cause) ? Cause.UNAVAILABLE : Cause.LOST,
                oneLine(what + PrintableText.startOf(cause)));
    }

    /** Returns the outcome of an invocation that the client did not begin to send. */
    static WorkerExit unsent(Throwable error) {
        return new WorkerExit(Cause.UNAVAILABLE, of(error).detail());
    }

    /**
     * Returns whether the client got no connection. The client wraps the reason, and has no types
     * for the limits of its pool.
     */
    private static boolean isWithoutConnection(Throwable error) {
        for (Throwable cause = error; cause != null; cause = cause.getCause()) {
            String message = String.valueOf(cause.getMessage());
            if (cause instanceof ConnectException
                    || cause instanceof NoRouteToHostException
                    || cause instanceof UnknownHostException
                    || cause instanceof TimeoutException && message.startsWith("Acquire operation took longer")
                    || cause instanceof IllegalStateException
                            && message.startsWith("Too many outstanding acquire operations")) {
                return true;
            }
        }
        return false;
    }

    static Cause cause(LambdaException answer) {
        int status = answer.statusCode();
        if (status == 429) {
            return Cause.THROTTLED;
        }
        Cause known = ofCode(
                answer.awsErrorDetails() == null ? "" : answer.awsErrorDetails().errorCode());
        boolean passes = status < 400 || status >= 500 || status == 408 || status == 409;
        return known != null ? known : passes ? Cause.FAILED : Cause.REFUSED;
    }

    /**
     * Returns what an error of {@code Invoke} means.
     *
     * @return {@code null} if the reference does not have it
     */
    static @Nullable Cause ofCode(@Nullable String code) {
        // The SDK spells some of the names in its own way.
        return switch (code == null ? "" : code.toLowerCase(Locale.ROOT)) {
            case "toomanyrequestsexception", "ec2throttledexception" -> Cause.THROTTLED;
            case "resourceconflictexception", // Pending, or another operation is in progress.
                    "resourcenotreadyexception", // Inactive, and its VPC connection is restored.
                    "snapstartnotreadyexception",
                    "codeartifactuserpendingexception",
                    "eninotreadyexception",
                    "enilimitreachedexception", // Others give interfaces and addresses back.
                    "subnetipaddresslimitreachedexception" -> Cause.NOT_READY;
            case "codeartifactuserdeletedexception",
                    "codeartifactuserfailedexception",
                    "ec2accessdeniedexception",
                    "efsmountfailureexception",
                    "invalidparametervalueexception",
                    "invalidrequestcontentexception",
                    "invalidruntimeexception",
                    "invalidsecuritygroupidexception",
                    "invalidsubnetidexception",
                    "invalidzipfileexception",
                    "kmsaccessdeniedexception",
                    "kmsdisabledexception",
                    "kmsinvalidstateexception",
                    "kmsnotfoundexception",
                    "modenotsupportedexception",
                    "nopublishedversionexception",
                    "recursiveinvocationexception",
                    "requesttoolargeexception",
                    "resourcenotfoundexception",
                    "s3filesmountfailureexception",
                    "serializedrequestentitytoolargeexception",
                    "servicequotaexceededexception",
                    "unsupportedmediatypeexception" -> Cause.REFUSED;
            case "durableexecutionalreadystartedexception",
                    "ec2unexpectedexception",
                    "efsioexception",
                    "efsmountconnectivityexception",
                    "efsmounttimeoutexception",
                    "s3filesmountconnectivityexception",
                    "s3filesmounttimeoutexception",
                    "serviceexception",
                    "snapstartexception", // The function's hook has failed.
                    "snapstartregenerationfailureexception",
                    "snapstarttimeoutexception" -> Cause.FAILED;
            default -> null;
        };
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

    /**
     * Returns an empty text for malformed Base64, because the outcome is needed even without the
     * log.
     */
    private static String decoded(String base64) {
        try {
            return new String(Base64.getMimeDecoder().decode(base64), StandardCharsets.UTF_8);
        } catch (IllegalArgumentException e) {
            return "";
        }
    }

    /** For a profile with {@code login_session}, the SDK does not say how to log in. */
    static String oneLine(String text) {
        String line = text.replaceAll("\\s+", " ").strip();
        return line.contains("You must re-authenticate") ? line + " Log in with: aws login" : line;
    }
}
