package io.lambdadispatcher.bench.lambda;

import com.amazonaws.services.lambda.runtime.ClientContext;
import com.amazonaws.services.lambda.runtime.CognitoIdentity;
import com.amazonaws.services.lambda.runtime.Context;
import com.amazonaws.services.lambda.runtime.LambdaLogger;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One invocation: its payload, its result, and the context that the handler receives. The timeout
 * starts with {@link #begin}.
 */
final class EnvironmentInvocation implements Context {
    private static final Logger log = LoggerFactory.getLogger(EnvironmentInvocation.class);

    final byte[] payload;

    /** Completed once, on the environment's thread, or on a timer's thread after a timeout. */
    final CompletableFuture<InvokeResult> result = new CompletableFuture<>();

    private final String function;
    private final long timeoutNanos;
    private long endNanos;

    EnvironmentInvocation(String function, byte[] payload, long timeoutNanos) {
        this.function = function;
        this.payload = payload;
        this.timeoutNanos = timeoutNanos;
    }

    /** Starts the timeout. The initialisation before it does not count. */
    void begin() {
        endNanos = System.nanoTime() + timeoutNanos;
    }

    @Override
    public int getRemainingTimeInMillis() {
        return (int) Math.max(0, TimeUnit.NANOSECONDS.toMillis(endNanos - System.nanoTime()));
    }

    @Override
    public String getAwsRequestId() {
        return Integer.toHexString(System.identityHashCode(this));
    }

    @Override
    public String getLogGroupName() {
        return "/aws/lambda/" + function;
    }

    @Override
    public String getLogStreamName() {
        return function;
    }

    @Override
    public String getFunctionName() {
        return function;
    }

    @Override
    public String getFunctionVersion() {
        return "$LATEST";
    }

    @Override
    public String getInvokedFunctionArn() {
        return "arn:aws:lambda:us-east-1:000000000000:function:" + function;
    }

    @Override
    public @Nullable CognitoIdentity getIdentity() {
        return null;
    }

    @Override
    public @Nullable ClientContext getClientContext() {
        return null;
    }

    @Override
    public int getMemoryLimitInMB() {
        return 512;
    }

    @Override
    public LambdaLogger getLogger() {
        return new LambdaLogger() {
            @Override
            public void log(String message) {
                log.info("{}", message);
            }

            @Override
            public void log(byte[] message) {
                log.info("{} bytes", message.length);
            }
        };
    }
}
