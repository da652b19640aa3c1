package io.lambdadispatcher.worker.adapter.function;

import com.amazonaws.services.lambda.runtime.ClientContext;
import com.amazonaws.services.lambda.runtime.CognitoIdentity;
import com.amazonaws.services.lambda.runtime.Context;
import com.amazonaws.services.lambda.runtime.LambdaLogger;
import com.amazonaws.services.lambda.runtime.LambdaRuntime;
import io.lambdadispatcher.worker.handler.Request;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * The context of one request. It has its own id and deadline; everything else belongs to the
 * function. Methods may be called from any thread.
 */
final class InvocationContext implements Context {
    private static final LambdaLogger LOGGER = new LineLogger();

    private final String id;
    private final FunctionFacts facts;
    private final Request request;

    InvocationContext(String id, FunctionFacts facts, Request request) {
        this.id = id;
        this.facts = facts;
        this.request = request;
    }

    @Override
    public String getAwsRequestId() {
        return id;
    }

    @Override
    public @Nullable String getLogGroupName() {
        return facts.logGroup();
    }

    @Override
    public @Nullable String getLogStreamName() {
        return facts.logStream();
    }

    @Override
    public String getFunctionName() {
        return facts.name();
    }

    @Override
    public String getFunctionVersion() {
        return facts.version();
    }

    @Override
    public String getInvokedFunctionArn() {
        return facts.arn();
    }

    @Override
    public @Nullable CognitoIdentity getIdentity() {
        return null;
    }

    @Override
    public @Nullable ClientContext getClientContext() {
        return null;
    }

    /**
     * Returns the time until the dispatcher ends the request. The worker drains before its own
     * invocation ends, so that end does not count.
     */
    @Override
    public int getRemainingTimeInMillis() {
        return request.remaining()
                .map(Duration::toMillis)
                .map(millis -> (int) Math.min(millis, Integer.MAX_VALUE))
                .orElse(Integer.MAX_VALUE);
    }

    @Override
    public int getMemoryLimitInMB() {
        return facts.memoryMb();
    }

    @Override
    public LambdaLogger getLogger() {
        return LOGGER;
    }

    @Override
    public @Nullable String getXrayTraceId() {
        CharSequence trace = request.headers().get("x-amzn-trace-id");
        return trace == null ? null : trace.toString();
    }

    /**
     * Writes to the runtime's logger, one line for each message. Many requests log concurrently,
     * and outside of Lambda the runtime's logger does not end lines.
     */
    private static final class LineLogger implements LambdaLogger {
        @Override
        public void log(String message) {
            LambdaRuntime.getLogger().log(message.endsWith("\n") ? message : message + "\n");
        }

        @Override
        public void log(byte[] message) {
            log(new String(message, StandardCharsets.UTF_8));
        }
    }
}
