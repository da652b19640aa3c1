package io.lambdadispatcher.worker;

import io.lambdadispatcher.worker.blocking.BlockingHandler;
import io.lambdadispatcher.worker.handler.Handler;
import io.lambdadispatcher.worker.lambda.FunctionHandler;
import io.lambdadispatcher.worker.runtime.RuntimeHandler;
import io.lambdadispatcher.worker.web.WebEnvironment;
import io.lambdadispatcher.worker.web.WebHandler;
import io.lambdadispatcher.worker.websocket.WebSocketHandler;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Makes the user's handler from its class name, or from a class and a method as Lambda names them: {@code pkg.Class::method}. */
final class HandlerLoader {
    /**
     * Holds the name of a class with a public constructor without parameters, which is a {@link Handler}, a {@link BlockingHandler}, a {@link
     * WebSocketHandler} or a Lambda function ({@link FunctionHandler}).
     */
    static final String VARIABLE = "LAMBDA_DISPATCHER_HANDLER";

    private HandlerLoader() {}

    /**
     * @return {@code null} if no variable chooses one
     * @throws IllegalArgumentException if two do, or the one chosen cannot be made
     */
    static @Nullable Handler choose(Map<String, String> variables) {
        String web = WebEnvironment.chosenBy(variables);
        List<String> set = new ArrayList<>(3);
        addIfSet(variables, VARIABLE, set);
        addIfSet(variables, RuntimeHandler.VARIABLE, set);
        if (web != null) {
            set.add(web);
        }
        if (set.size() > 1) {
            throw new IllegalArgumentException(
                    "both " + set.get(0) + " and " + set.get(1) + " are set, expected one of them");
        }
        String only = set.isEmpty() ? "" : set.get(0);
        return switch (only) {
            case VARIABLE -> load(variables.getOrDefault(VARIABLE, ""), variables);
            case RuntimeHandler.VARIABLE -> RuntimeHandler.of(variables);
            case "" -> null;
            default -> web(variables);
        };
    }

    private static void addIfSet(Map<String, String> variables, String name, List<String> to) {
        String value = variables.get(name);
        if (value != null && !value.isBlank()) {
            to.add(name);
        }
    }

    private static Handler web(Map<String, String> variables) {
        return new WebHandler(WebEnvironment.read(variables));
    }

    static Handler load(String name) {
        return load(name, System.getenv());
    }

    /** @throws IllegalArgumentException if there is no such class, or it is something else */
    static Handler load(String name, Map<String, String> variables) {
        int colons = name.lastIndexOf("::");
        String className = colons < 0 ? name : name.substring(0, colons);
        Object made;
        try {
            ClassLoader loader = Thread.currentThread().getContextClassLoader();
            Class<?> type =
                    Class.forName(className, true, loader == null ? HandlerLoader.class.getClassLoader() : loader);
            if (colons >= 0 || isFunction(type)) {
                return function(type, colons < 0 ? null : name.substring(colons + 2), variables);
            }
            made = type.getConstructor().newInstance();
        } catch (ReflectiveOperationException | LinkageError e) {
            throw new IllegalArgumentException(
                    VARIABLE + " is '" + className
                            + "', expected a class with a public constructor without parameters: "
                            + (e.getCause() == null ? e : e.getCause()),
                    e);
        }
        if (made instanceof Handler handler) {
            return handler;
        }
        if (made instanceof BlockingHandler blocking) {
            return blocking.asHandler();
        }
        if (made instanceof WebSocketHandler webSocket) {
            return webSocket.asHandler();
        }
        throw new IllegalArgumentException(VARIABLE + " is '" + className + "', expected a " + Handler.class.getName()
                + ", a " + BlockingHandler.class.getName() + ", a " + WebSocketHandler.class.getName()
                + ", a RequestHandler or a RequestStreamHandler");
    }

    private static boolean isFunction(Class<?> type) {
        return FunctionHandler.canServe(type) && !Handler.class.isAssignableFrom(type);
    }

    private static Handler function(Class<?> type, @Nullable String method, Map<String, String> variables) {
        if (LambdaHandler.class.isAssignableFrom(type)) {
            throw new IllegalArgumentException(VARIABLE + " is '" + type.getName()
                    + "', which is what Lambda is to call, expected the handler that it serves with");
        }
        return FunctionHandler.of(type, method, variables);
    }
}
