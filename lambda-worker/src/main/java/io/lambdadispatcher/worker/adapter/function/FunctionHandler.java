package io.lambdadispatcher.worker.adapter.function;

import com.amazonaws.services.lambda.runtime.Context;
import com.amazonaws.services.lambda.runtime.RequestStreamHandler;
import io.lambdadispatcher.wire.event.EventFormat;
import io.lambdadispatcher.wire.event.EventWriter;
import io.lambdadispatcher.wire.event.ResponseReader;
import io.lambdadispatcher.worker.handler.Handler;
import io.lambdadispatcher.worker.handler.Request;
import io.lambdadispatcher.worker.handler.Response;
import io.lambdadispatcher.worker.internal.exchange.BodyBudget;
import io.lambdadispatcher.worker.internal.exchange.FailureLog;
import io.lambdadispatcher.worker.internal.exchange.Variables;
import java.io.InputStream;
import java.io.OutputStream;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Serves requests with a Lambda function that is written in Java. Invocations with other events,
 * for example of queues, are passed to the function unchanged.
 *
 * <pre>{@code
 * FunctionHandler handler = FunctionHandler.of(Orders.class, null, System.getenv());
 * }</pre>
 *
 * <p><b>Threading.</b> Any thread. One instance of the function serves all requests concurrently,
 * each on its own thread. The handler holds no thread and no socket, so it can be part of a
 * snapshot.
 *
 * <p><b>Errors.</b> A request's body that is too large is answered with 413. An exception of the
 * function, or a result that is not a response, fails the request.
 */
public final class FunctionHandler implements Handler, RequestStreamHandler {
    /**
     * The environment variable for the format of the events, for example {@code rest-api}. Default:
     * the event class of the function decides.
     */
    public static final String EVENT_VARIABLE = "LAMBDA_DISPATCHER_EVENT";

    /**
     * The environment variable for the maximum size of a request's body, 0 to 1,073,741,824 bytes.
     * Default: 64 MiB. A larger body is answered with 413.
     */
    public static final String MAX_BODY_VARIABLE = "LAMBDA_DISPATCHER_EVENT_MAX_BODY_BYTES";

    static final int DEFAULT_MAX_BODY_BYTES = 64 << 20;

    /** A body in base64 is 4/3 as long, and must fit into one array. */
    static final int MOST_BODY_BYTES = 1 << 30;

    /** The maximum size of an array. */
    static final int MAX_EVENT_BYTES = Integer.MAX_VALUE - 8;

    private static final Logger log = LoggerFactory.getLogger(FunctionHandler.class);

    // For the calls.
    final UserFunction function;
    final ClassLoader classLoader;
    final EventWriter events;
    final ResponseReader responses;
    final int maxBodyBytes;
    final BodyBudget budget = BodyBudget.ofQuarterOfHeap();
    volatile FunctionFacts facts;

    private FunctionHandler(
            UserFunction function, ClassLoader classLoader, EventFormat format, int maxBodyBytes, FunctionFacts facts) {
        this.function = function;
        this.classLoader = classLoader;
        this.events = EventWriter.of(format, facts.name());
        this.responses = new ResponseReader(format, FailureLog::reportLoss);
        this.maxBodyBytes = maxBodyBytes;
        this.facts = facts;
    }

    /**
     * Returns whether a class implements {@code RequestHandler} or {@code RequestStreamHandler}.
     */
    public static boolean canServe(Class<?> type) {
        return FunctionLoader.isHandler(type);
    }

    /**
     * Creates the function's instance and a handler that serves with it.
     *
     * @param type the class of the function
     * @param method the name of the method to call; {@code null} if the class implements {@code
     *     RequestHandler} or {@code RequestStreamHandler}
     * @param variables the environment variables of the worker
     * @throws IllegalArgumentException if the class, the method or a variable cannot be used. The
     *     message says what was expected
     */
    public static FunctionHandler of(Class<?> type, @Nullable String method, Map<String, String> variables) {
        UserFunction function = FunctionLoader.load(type, method);
        Variables given = new Variables(variables);
        String shape = given.find(EVENT_VARIABLE);
        EventFormat format = shape == null
                ? EventClasses.formatOf(TypeArguments.rawClass(function.inputType()))
                : EventFormat.parse(EVENT_VARIABLE, shape);
        log.info("{} takes requests as {} events", type.getName(), format.text());
        ClassLoader own = type.getClassLoader();
        return new FunctionHandler(
                function,
                own == null ? ClassLoader.getSystemClassLoader() : own,
                format,
                given.number(DEFAULT_MAX_BODY_BYTES, 0, MOST_BODY_BYTES, MAX_BODY_VARIABLE),
                FunctionFacts.of(variables));
    }

    /**
     * Tells the handler in which invocation the worker runs. From now on, the function's {@link
     * Context} has the name, the version, the ARN, the memory size and the log names of that
     * invocation.
     */
    public void onInvoke(Context invoke) {
        facts = FunctionFacts.of(invoke);
    }

    @Override
    public void handle(Request request, Response response) {
        new FunctionCall(this, request, response).start();
    }

    /**
     * Calls the function with an event that is not a request of the dispatcher, unmodified. Blocks.
     * What the function throws is thrown unchanged, checked exceptions included.
     */
    @Override
    public void handleRequest(InputStream event, OutputStream result, Context context) {
        try {
            function.call(event, result, context);
        } catch (Throwable e) {
            FunctionHandler.<RuntimeException>rethrow(e);
        }
    }

    /**
     * Throws an exception of the user's code unchanged, so that Lambda does not report a wrapper.
     */
    @SuppressWarnings("unchecked")
    private static <E extends Throwable> void rethrow(Throwable cause) throws E {
        throw (E) cause;
    }
}
