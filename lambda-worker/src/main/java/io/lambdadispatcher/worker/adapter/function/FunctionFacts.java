package io.lambdadispatcher.worker.adapter.function;

import com.amazonaws.services.lambda.runtime.Context;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * What a handler can learn about its function. The values come from the environment variables that
 * Lambda sets (<a
 * href="https://docs.aws.amazon.com/lambda/latest/dg/configuration-envvars.html">AWS's list</a>),
 * or from the invocation in which the worker runs.
 *
 * @param arn has the account 000000000000 until the invocation is known, because no variable
 *     contains the ARN
 * @param logGroup {@code null} outside of Lambda
 * @param logStream {@code null} outside of Lambda
 */
record FunctionFacts(
        String name,
        String version,
        String arn,
        int memoryMb,
        @Nullable String logGroup,
        @Nullable String logStream) {

    static FunctionFacts of(Map<String, String> variables) {
        String worker = variables.getOrDefault("LAMBDA_DISPATCHER_FUNCTION", "function");
        String name = variables.getOrDefault("AWS_LAMBDA_FUNCTION_NAME", worker);
        String region = variables.getOrDefault("AWS_REGION", "local");
        return new FunctionFacts(
                name,
                variables.getOrDefault("AWS_LAMBDA_FUNCTION_VERSION", "$LATEST"),
                "arn:aws:lambda:" + region + ":000000000000:function:" + name,
                memoryMb(variables.get("AWS_LAMBDA_FUNCTION_MEMORY_SIZE")),
                variables.get("AWS_LAMBDA_LOG_GROUP_NAME"),
                variables.get("AWS_LAMBDA_LOG_STREAM_NAME"));
    }

    private static int memoryMb(@Nullable String value) {
        try {
            return Integer.parseInt(value);
        } catch (NumberFormatException absentToo) {
            return (int) (Runtime.getRuntime().maxMemory() >> 20);
        }
    }

    static FunctionFacts of(Context invoke) {
        return new FunctionFacts(
                invoke.getFunctionName(),
                invoke.getFunctionVersion(),
                invoke.getInvokedFunctionArn(),
                invoke.getMemoryLimitInMB(),
                invoke.getLogGroupName(),
                invoke.getLogStreamName());
    }
}
