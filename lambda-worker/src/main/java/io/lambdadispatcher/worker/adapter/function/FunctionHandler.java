package io.lambdadispatcher.worker.adapter.function;

import com.amazonaws.services.lambda.runtime.Context;
import com.amazonaws.services.lambda.runtime.RequestStreamHandler;
import io.lambdadispatcher.wire.event.EventFormat;
import io.lambdadispatcher.wire.event.EventWriter;
import io.lambdadispatcher.wire.event.ResponseReader;
import io.lambdadispatcher.worker.handler.Handler;
import io.lambdadispatcher.worker.handler.Request;
import io.lambdadispatcher.worker.handler.Response;
import io.lambdadispatcher.worker.internal.exchange.Variables;
import java.io.InputStream;
import java.io.OutputStream;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Serves requests with a Lambda function written in Java: one object for all of them, many at once. Takes ordinary invokes as well, with events of any
 * kind. Holds no thread and no socket, so that it may be in a snapshot. Any thread.
 */
public final class FunctionHandler implements Handler, RequestStreamHandler {
    /** Names the shape of the events, e.g. {@code rest-api}; where it is not set the function's event class decides. */
    public static final String EVENT_VARIABLE = "LAMBDA_DISPATCHER_EVENT";

    /** The most octets of a request's body; a larger one gets 413. */
    public static final String MAX_BODY_VARIABLE = "LAMBDA_DISPATCHER_EVENT_MAX_BODY_BYTES";

    static final int DEFAULT_MAX_BODY_BYTES = 64 << 20;

    /** In base64 it is 4/3 as long, and has to be one array. */
    static final int MOST_BODY_BYTES = 1 << 30;

    /** As large as an array can be. */
    static final int MAX_EVENT_BYTES = Integer.MAX_VALUE - 8;

    private static final Logger log = LoggerFactory.getLogger(FunctionHandler.class);

    // For the calls.
    final UserFunction function;
    final ClassLoader classLoader;
    final EventWriter events;
    final ResponseReader responses;
    final int maxBodyBytes;
    volatile FunctionFacts facts;

    private FunctionHandler(
            UserFunction function, ClassLoader classLoader, EventFormat format, int maxBodyBytes, FunctionFacts facts) {
        this.function = function;
        this.classLoader = classLoader;
        this.events = EventWriter.of(format, facts.name());
        this.responses = new ResponseReader(format);
        this.maxBodyBytes = maxBodyBytes;
        this.facts = facts;
    }

    /** The class implements one of Lambda's interfaces. */
    public static boolean canServe(Class<?> type) {
        return FunctionLoader.isHandler(type);
    }

    /**
     * Makes the object that serves.
     *
     * @param method of the class, which need not implement anything then; {@code null} for one that does
     * @param variables of the environment
     * @throws IllegalArgumentException names what cannot be used and what was expected
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

    /** The invoke that this worker is: from now on requests have its function, its ARN and its log stream. */
    public void onInvoke(Context invoke) {
        facts = FunctionFacts.of(invoke);
    }

    @Override
    public void handle(Request request, Response response) {
        new FunctionCall(this, request, response).start();
    }

    /** An ordinary invoke, which is no request of the dispatcher's: goes to the function as it is. */
    @Override
    public void handleRequest(InputStream event, OutputStream result, Context context) {
        try {
            function.call(event, result, context);
        } catch (Throwable e) {
            FunctionHandler.<RuntimeException>rethrow(e);
        }
    }

    /** So that Lambda is told of what the user's code threw, checked or not, and not of a wrapper. */
    @SuppressWarnings("unchecked")
    private static <E extends Throwable> void rethrow(Throwable cause) throws E {
        throw (E) cause;
    }
}
