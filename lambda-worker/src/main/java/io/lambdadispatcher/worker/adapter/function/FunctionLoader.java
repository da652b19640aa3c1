package io.lambdadispatcher.worker.adapter.function;

import com.amazonaws.services.lambda.runtime.Context;
import com.amazonaws.services.lambda.runtime.RequestHandler;
import com.amazonaws.services.lambda.runtime.RequestStreamHandler;
import io.lambdadispatcher.worker.internal.exchange.UserClass;
import java.io.InputStream;
import java.io.OutputStream;
import java.lang.reflect.Type;
import org.jspecify.annotations.Nullable;

/**
 * Creates a {@link UserFunction} from a class, or from a class and a method, by the rules of AWS's
 * runtime client (<a href="https://docs.aws.amazon.com/lambda/latest/dg/java-handler.html">Define
 * Lambda function handler in Java</a>).
 */
final class FunctionLoader {
    private static final String HANDLE_REQUEST = "handleRequest";

    private FunctionLoader() {}

    /** Returns whether the class implements a handler interface of Lambda. */
    static boolean isHandler(Class<?> type) {
        return RequestStreamHandler.class.isAssignableFrom(type) || RequestHandler.class.isAssignableFrom(type);
    }

    /**
     * @param method {@code null} if the class implements an interface
     * @throws IllegalArgumentException if the class cannot be instantiated, or has nothing that can
     *     be called
     */
    static UserFunction load(Class<?> type, @Nullable String method) {
        boolean ofInterface = isHandler(type) && (method == null || method.equals(HANDLE_REQUEST));
        if (!ofInterface) {
            if (method == null) {
                throw new IllegalArgumentException(type.getName() + " is neither a RequestHandler nor a"
                        + " RequestStreamHandler, expected one, or a method: " + type.getName() + "::name");
            }
            return HandlerMethod.of(type, method).toFunction();
        }
        Object made = UserClass.newInstance(type);
        if (made instanceof RequestStreamHandler streams) {
            return new StreamFunction(streams);
        }
        return ofRequestHandler(type, (RequestHandler<?, ?>) made);
    }

    @SuppressWarnings("unchecked")
    private static UserFunction ofRequestHandler(Class<?> type, RequestHandler<?, ?> handler) {
        Type[] types = TypeArguments.of(type, RequestHandler.class);
        RequestHandler<@Nullable Object, Object> typed = (RequestHandler<@Nullable Object, Object>) handler;
        return new PojoFunction(types[0], types[1], typed::handleRequest);
    }

    /** A function that reads and writes bytes. */
    private record StreamFunction(RequestStreamHandler handler) implements UserFunction {
        @Override
        public void call(InputStream event, OutputStream result, Context context) throws Throwable {
            handler.handleRequest(event, result, context);
        }

        @Override
        public @Nullable Type inputType() {
            return null;
        }
    }
}
