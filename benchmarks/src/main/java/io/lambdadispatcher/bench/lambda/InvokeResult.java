package io.lambdadispatcher.bench.lambda;

import java.nio.charset.StandardCharsets;
import java.util.Locale;
import tools.jackson.core.io.JsonStringEncoder;

/**
 * The result of an invocation, as the Invoke API returns it.
 *
 * @param status HTTP status
 * @param errorType of the API's own errors, such as {@code TooManyRequestsException}; empty if the
 *     function was invoked
 * @param functionError {@code Unhandled} if the function failed; otherwise empty
 * @param payload must not be changed
 */
record InvokeResult(int status, String errorType, String functionError, byte[] payload) {
    /** The limit of the request and of the response of a synchronous invocation. */
    static final int LARGEST_PAYLOAD_BYTES = 6 * 1024 * 1024;

    /** Lambda permits slightly more bytes in a response. */
    static final int LARGEST_RESPONSE_BYTES = LARGEST_PAYLOAD_BYTES + 100;

    private static final byte[] NOTHING = {};

    static InvokeResult returned(byte[] payload) {
        return payload.length <= LARGEST_RESPONSE_BYTES
                ? new InvokeResult(200, "", "", payload)
                : failed(
                        "Function.ResponseSizeTooLarge",
                        "Response payload size exceeded maximum allowed payload size (" + LARGEST_RESPONSE_BYTES
                                + " bytes).");
    }

    static InvokeResult threw(Throwable thrown) {
        return failed(thrown.getClass().getName(), String.valueOf(thrown.getMessage()));
    }

    static InvokeResult timedOut(long afterMillis) {
        return failed(
                "Sandbox.Timedout",
                String.format(Locale.ROOT, "Task timed out after %.2f seconds", afterMillis / 1000.0));
    }

    /** Answers a dry run: the function exists and may be invoked. */
    static InvokeResult mayBeInvoked() {
        return new InvokeResult(204, "", "", NOTHING);
    }

    static InvokeResult throttled() {
        return refused(
                429,
                "TooManyRequestsException",
                "\"Reason\":\"ReservedFunctionConcurrentInvocationLimitExceeded\",",
                "Rate Exceeded.");
    }

    static InvokeResult tooLarge(int payloadBytes) {
        return refused(
                413,
                "RequestTooLargeException",
                "",
                payloadBytes + " byte payload is too large for the RequestResponse invocation type (limit "
                        + LARGEST_PAYLOAD_BYTES + " bytes)");
    }

    static InvokeResult noSuchFunction(String name) {
        return refused(404, "ResourceNotFoundException", "", "Function not found: " + name);
    }

    static InvokeResult noSuchOperation(String what) {
        return refused(404, "UnknownOperationException", "", "Unknown operation: " + what);
    }

    private static InvokeResult failed(String type, String message) {
        return new InvokeResult(
                200,
                "",
                "Unhandled",
                json("{\"errorMessage\":\"" + quoted(message) + "\",\"errorType\":\"" + quoted(type) + "\"}"));
    }

    private static InvokeResult refused(int status, String type, String fields, String message) {
        return new InvokeResult(
                status, type, "", json("{" + fields + "\"Type\":\"User\",\"message\":\"" + quoted(message) + "\"}"));
    }

    private static String quoted(String text) {
        return new String(JsonStringEncoder.getInstance().quoteAsCharArray(text));
    }

    private static byte[] json(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }
}
