package io.lambdadispatcher.worker.adapter.runtime;

import io.lambdadispatcher.wire.event.EventFormat;
import io.lambdadispatcher.worker.adapter.function.FunctionHandler;
import io.lambdadispatcher.worker.config.WorkerConfig;
import io.lambdadispatcher.worker.internal.child.ChildCommand;
import io.lambdadispatcher.worker.internal.exchange.Variables;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The runtime to start, and its limits.
 *
 * @param commandLine the shell command that starts the runtime, like a container's entry point
 * @param handler the child's {@code _HANDLER}, or {@code null} for the worker's own value
 * @param children the number of child processes
 * @param concurrency the maximum number of invocations that each child may hold. If it is more than
 *     1, the child receives it in {@code AWS_LAMBDA_MAX_CONCURRENCY}, and its runtime client must
 *     support it
 * @param queue the maximum number of queued requests
 * @param queueBytes the maximum size of all queued events together. A single event may be larger
 * @param maxBytes the maximum size of an event, and of a response that is not streamed
 * @param variables the environment variables of the worker
 */
record RuntimeConfig(
        String commandLine,
        @Nullable String handler,
        EventFormat format,
        int children,
        int concurrency,
        int queue,
        int queueBytes,
        int maxBytes,
        Map<String, String> variables) {
    static final String COMMAND = WorkerConfig.VARIABLE_PREFIX + "RUNTIME";

    static final String API_HOST = "127.0.0.1";

    private static final String HANDLER = COMMAND + "_HANDLER";
    private static final String CHILDREN = COMMAND + "_CHILDREN";
    private static final String CONCURRENCY = COMMAND + "_CONCURRENCY";
    private static final String QUEUE = COMMAND + "_QUEUE";
    private static final String QUEUE_BYTES = COMMAND + "_QUEUE_BYTES";
    private static final String MAX_BYTES = COMMAND + "_MAX_BYTES";
    private static final String EVENT = FunctionHandler.EVENT_VARIABLE;

    private static final int MOST_CHILDREN = 1_000;
    private static final int MOST_CONCURRENCY = 10_000;
    private static final int MOST_QUEUE = 1_000_000;
    private static final int DEFAULT_QUEUE = 1_000;

    /** A quarter of the heap. */
    private static final int DEFAULT_QUEUE_BYTES =
            (int) Math.min(Integer.MAX_VALUE, Runtime.getRuntime().maxMemory() / 4);

    /** Enough for a body of 64 MiB in base64, with the rest of its event. */
    private static final int DEFAULT_MAX_BYTES = 96 * 1024 * 1024;

    /**
     * Functions mostly wait for I/O, so there are several children for each processor. Set the
     * number to one for each processor if the function computes all the time.
     */
    private static final int CHILDREN_PER_PROCESSOR = 4;

    /**
     * The variables that children do not receive, in addition to those of the worker. They belong
     * to the runtime client of a worker on Lambda. Some are file descriptors, which are closed in a
     * child.
     */
    private static final List<String> NOT_FOR_CHILDREN = List.of(
            "AWS_LAMBDA_MAX_CONCURRENCY",
            "AWS_LAMBDA_INITIALIZATION_TYPE",
            "_LAMBDA_TELEMETRY_LOG_FD",
            "_LAMBDA_TELEMETRY_LOG_FD_PROVIDER_SOCKET",
            "_X_AMZN_TRACE_ID");

    /**
     * @throws IllegalArgumentException if a variable is not allowed. The message names the
     *     variable, its value and what was expected
     */
    static RuntimeConfig read(Map<String, String> variables) {
        Variables given = new Variables(variables);
        String commandLine = given.find(COMMAND);
        if (commandLine == null) {
            throw given.bad("the command line of a Lambda runtime", COMMAND);
        }
        String shape = given.find(EVENT);
        int concurrency = given.number(1, 1, MOST_CONCURRENCY, CONCURRENCY);
        int processors = Runtime.getRuntime().availableProcessors();
        int children = concurrency > 1 ? 1 : processors * CHILDREN_PER_PROCESSOR;
        return new RuntimeConfig(
                commandLine,
                variables.get(HANDLER),
                shape == null ? EventFormat.HTTP_API_V2 : EventFormat.parse(EVENT, shape),
                given.number(children, 1, MOST_CHILDREN, CHILDREN),
                concurrency,
                given.number(DEFAULT_QUEUE, 0, MOST_QUEUE, QUEUE),
                given.number(DEFAULT_QUEUE_BYTES, 0, Integer.MAX_VALUE, QUEUE_BYTES),
                given.number(DEFAULT_MAX_BYTES, 1, Integer.MAX_VALUE / 2, MAX_BYTES),
                Map.copyOf(variables));
    }

    private String variable(String name, String otherwise) {
        return variables.getOrDefault(name, otherwise);
    }

    String functionName() {
        return variable("AWS_LAMBDA_FUNCTION_NAME", variable(WorkerConfig.VARIABLE_PREFIX + "FUNCTION", "function"));
    }

    /**
     * Returns the ARN that requests get, with a fictitious account, because AWS sends the ARN only
     * with an invocation.
     */
    String functionArn() {
        return "arn:aws:lambda:" + variable("AWS_REGION", "us-east-1") + ":000000000000:function:" + functionName();
    }

    /**
     * Returns the command with the environment that Lambda describes. Values of the worker's own
     * environment take precedence.
     */
    ChildCommand command(String name, int port) {
        String taskRoot =
                variable("LAMBDA_TASK_ROOT", Path.of("").toAbsolutePath().toString());
        Map<String, String> set = new HashMap<>();
        set.put("AWS_LAMBDA_FUNCTION_NAME", functionName());
        set.put("AWS_LAMBDA_FUNCTION_VERSION", variable("AWS_LAMBDA_FUNCTION_VERSION", "$LATEST"));
        set.put("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", variable("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", "128"));
        set.put("AWS_LAMBDA_LOG_GROUP_NAME", variable("AWS_LAMBDA_LOG_GROUP_NAME", "/aws/lambda/" + functionName()));
        set.put("AWS_LAMBDA_LOG_STREAM_NAME", variable("AWS_LAMBDA_LOG_STREAM_NAME", name));
        set.put("LAMBDA_TASK_ROOT", taskRoot);
        set.put("AWS_LAMBDA_INITIALIZATION_TYPE", "on-demand");
        set.put("AWS_LAMBDA_RUNTIME_API", API_HOST + ":" + port);
        if (handler != null) {
            set.put("_HANDLER", handler);
        }
        if (concurrency > 1) {
            set.put("AWS_LAMBDA_MAX_CONCURRENCY", Integer.toString(concurrency));
        }
        List<String> removed = variables.keySet().stream()
                .filter(key -> key.startsWith(WorkerConfig.VARIABLE_PREFIX) || NOT_FOR_CHILDREN.contains(key))
                .filter(key -> !key.equals(WorkerConfig.DOWNSTREAM_SHARE_VARIABLE))
                .toList();
        ChildCommand shell = ChildCommand.shell(name, commandLine);
        ChildCommand command = new ChildCommand(name, shell.words(), null, set, removed);
        return Files.isDirectory(Path.of(taskRoot)) ? command.in(Path.of(taskRoot)) : command;
    }
}
