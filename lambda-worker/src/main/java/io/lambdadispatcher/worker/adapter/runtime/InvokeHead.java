package io.lambdadispatcher.worker.adapter.runtime;

import com.amazonaws.services.lambda.runtime.Client;
import com.amazonaws.services.lambda.runtime.ClientContext;
import com.amazonaws.services.lambda.runtime.CognitoIdentity;
import com.amazonaws.services.lambda.runtime.Context;
import io.lambdadispatcher.wire.event.Json;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * What a child is told about an invocation, in addition to its event.
 *
 * @param clientContext JSON of the caller, usually of a mobile application
 * @param identity JSON about the caller's identity in Amazon Cognito
 * @param deadlineEpochMillis the deadline by the wall clock, which the child reads
 * @param deadlineNanos the deadline by {@link System#nanoTime}
 * @param timeoutNanos the time from the start of the request to the deadline, with its upload
 */
record InvokeHead(
        String id,
        String functionArn,
        @Nullable String traceId,
        @Nullable String clientContext,
        @Nullable String identity,
        long deadlineEpochMillis,
        long deadlineNanos,
        long timeoutNanos) {
    /** Lambda's maximum, for requests without a limit. */
    static final long LONGEST_MILLIS = TimeUnit.MINUTES.toMillis(15);

    /** Of printable ASCII and short, because it becomes a header that every client must read. */
    private static final Pattern TRACE = Pattern.compile("(?=.*Root=)[ -~]{1,256}");

    private static final HexFormat HEX = HexFormat.of();

    /** @param traceId of a client. If it is {@code null} or not usable, there is a new one */
    static InvokeHead ofRequest(String functionArn, @Nullable String traceId, long timeoutMillis, long millisLeft) {
        String trace = traceId != null && TRACE.matcher(traceId).matches() ? traceId : newTraceId();
        return of(UUID.randomUUID().toString(), functionArn, trace, null, null, timeoutMillis, millisLeft);
    }

    static InvokeHead of(String id, String functionArn, @Nullable String traceId, long millisLeft) {
        return of(id, functionArn, traceId, null, null, millisLeft, millisLeft);
    }

    /** Returns what the worker itself was told about an ordinary invocation. */
    static InvokeHead of(Context context, @Nullable String traceId) {
        return of(
                context.getAwsRequestId(),
                context.getInvokedFunctionArn(),
                traceId,
                json(context.getClientContext()),
                json(context.getIdentity()),
                context.getRemainingTimeInMillis(),
                context.getRemainingTimeInMillis());
    }

    private static InvokeHead of(
            String id,
            String functionArn,
            @Nullable String traceId,
            @Nullable String clientContext,
            @Nullable String identity,
            long timeoutMillis,
            long millisLeft) {
        return new InvokeHead(
                id,
                functionArn,
                traceId,
                clientContext,
                identity,
                System.currentTimeMillis() + millisLeft,
                System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(millisLeft),
                TimeUnit.MILLISECONDS.toNanos(timeoutMillis));
    }

    /**
     * Returns a new trace ID in X-Ray's format, not sampled. It is made from UUIDs, because
     * SecureRandom is seeded again in each environment that is restored from a snapshot, and a
     * thread's generator is not (AWS Lambda developer guide, SnapStart and uniqueness).
     */
    private static String newTraceId() {
        UUID unique = UUID.randomUUID();
        long parent = UUID.randomUUID().getLeastSignificantBits();
        String seconds = HEX.toHexDigits((int) TimeUnit.MILLISECONDS.toSeconds(System.currentTimeMillis()));
        String root = HEX.toHexDigits(unique.getMostSignificantBits())
                + HEX.toHexDigits((int) unique.getLeastSignificantBits());
        return "Root=1-" + seconds + "-" + root + ";Parent=" + HEX.toHexDigits(parent) + ";Sampled=0";
    }

    /** Returns it as AWS's runtime clients read it. */
    private static @Nullable String json(@Nullable ClientContext from) {
        if (from == null) {
            return null;
        }
        Map<String, @Nullable Object> all = new LinkedHashMap<>();
        Client client = from.getClient();
        if (client != null) {
            Map<String, @Nullable Object> about = new LinkedHashMap<>();
            about.put("installation_id", client.getInstallationId());
            about.put("app_title", client.getAppTitle());
            about.put("app_version_name", client.getAppVersionName());
            about.put("app_version_code", client.getAppVersionCode());
            about.put("app_package_name", client.getAppPackageName());
            all.put("client", withoutNulls(about));
        }
        all.put("custom", from.getCustom());
        all.put("env", from.getEnvironment());
        return Json.write(withoutNulls(all));
    }

    /** Returns it as AWS's runtime clients read it. */
    private static @Nullable String json(@Nullable CognitoIdentity from) {
        if (from == null || from.getIdentityId() == null) {
            return null;
        }
        Map<String, @Nullable Object> all = new LinkedHashMap<>();
        all.put("cognitoIdentityId", from.getIdentityId());
        all.put("cognitoIdentityPoolId", from.getIdentityPoolId());
        return Json.write(withoutNulls(all));
    }

    /** Clients in typed languages accept a missing member, and not always null. */
    private static Map<String, @Nullable Object> withoutNulls(Map<String, @Nullable Object> members) {
        members.values().removeIf(Objects::isNull);
        return members;
    }

    boolean isOverdue(long nowNanos) {
        return nowNanos - deadlineNanos >= 0;
    }
}
