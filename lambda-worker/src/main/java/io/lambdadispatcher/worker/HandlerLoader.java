package io.lambdadispatcher.worker;

import io.lambdadispatcher.wire.http.PrintableText;
import io.lambdadispatcher.worker.adapter.function.FunctionHandler;
import io.lambdadispatcher.worker.adapter.runtime.RuntimeHandler;
import io.lambdadispatcher.worker.adapter.web.WebHandler;
import io.lambdadispatcher.worker.blocking.BlockingHandler;
import io.lambdadispatcher.worker.config.WorkerConfig;
import io.lambdadispatcher.worker.handler.Handler;
import io.lambdadispatcher.worker.internal.exchange.UserClass;
import io.lambdadispatcher.worker.internal.exchange.Variables;
import io.lambdadispatcher.worker.websocket.WebSocketHandler;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Creates the handler that environment variables choose: a class, a Lambda runtime or a
 * web application.
 */
final class HandlerLoader {
    /**
     * Holds the name of a class with a public constructor without parameters, which is a {@link
     * Handler}, a {@link BlockingHandler}, a {@link WebSocketHandler} or a Lambda function ({@link
     * FunctionHandler}).
     */
    static final String VARIABLE = "LAMBDA_DISPATCHER_HANDLER";

    private HandlerLoader() {}

    /**
     * @throws IllegalArgumentException if no variable chooses one, if two do, or if the one chosen
     *     cannot be made
     */
    static Handler choose(Map<String, String> variables) {
        List<String> set = choices(variables);
        if (set.isEmpty()) {
            throw new IllegalArgumentException("nothing to serve: set " + VARIABLE + " (the class of a handler), "
                    + RuntimeHandler.VARIABLE + " (the command that starts a Lambda runtime) or "
                    + WebHandler.PORT_VARIABLE + " (the port of a web application)");
        }
        if (set.size() > 1) {
            throw new IllegalArgumentException(
                    "both " + set.get(0) + " and " + set.get(1) + " are set, expected one of them");
        }
        return switch (set.get(0)) {
            case VARIABLE -> load(variables.getOrDefault(VARIABLE, ""), variables);
            case RuntimeHandler.VARIABLE -> RuntimeHandler.of(variables);
            default -> WebHandler.of(variables);
        };
    }

    /**
     * As {@link #choose}, except that on Lambda a {@code PORT} alone chooses a web application,
     * too.
     */
    static Handler chooseOnLambda(Map<String, String> variables) {
        boolean portAlone = choices(variables).isEmpty() && WebHandler.isPortGiven(variables);
        return portAlone ? WebHandler.of(variables) : choose(variables);
    }

    private static List<String> choices(Map<String, String> variables) {
        List<String> set = new ArrayList<>(new Variables(variables).allSet(VARIABLE, RuntimeHandler.VARIABLE));
        String web = WebHandler.chosenBy(variables);
        if (web != null) {
            set.add(web);
        }
        return set;
    }

    /**
     * @param value the name of a class, or of a class and a method as Lambda names them: {@code
     *     pkg.Class::method}
     * @throws IllegalArgumentException names the variable, its value, what is wrong with it and
     *     what was expected
     */
    static Handler load(String value, Map<String, String> variables) {
        String name = value.strip();
        try {
            return make(name, variables);
        } catch (LinkageError e) {
            throw new IllegalArgumentException(VARIABLE + "=" + name + ": " + unloadable(e), e);
        } catch (IllegalArgumentException e) {
            // What is wrong with another variable names that one.
            boolean ofAnother = String.valueOf(e.getMessage()).startsWith(WorkerConfig.VARIABLE_PREFIX);
            throw ofAnother
                    ? e
                    : new IllegalArgumentException(VARIABLE + "=" + name + ": " + PrintableText.ofFailure(e), e);
        }
    }

    private static Handler make(String name, Map<String, String> variables) {
        int colons = name.lastIndexOf("::");
        String className = colons < 0 ? name : name.substring(0, colons);
        String method = colons < 0 ? null : name.substring(colons + 2);
        if (className.isEmpty() || method != null && method.isEmpty()) {
            throw new IllegalArgumentException("the name is incomplete, expected a class name or pkg.Class::method");
        }
        Class<?> type = find(className);
        if (method != null) {
            return function(type, method, variables);
        }
        if (Handler.class.isAssignableFrom(type)) {
            return (Handler) UserClass.newInstance(type);
        }
        if (BlockingHandler.class.isAssignableFrom(type)) {
            return ((BlockingHandler) UserClass.newInstance(type)).asHandler();
        }
        if (WebSocketHandler.class.isAssignableFrom(type)) {
            return ((WebSocketHandler) UserClass.newInstance(type)).asHandler();
        }
        if (FunctionHandler.canServe(type)) {
            return function(type, null, variables);
        }
        throw new IllegalArgumentException(className + " is not a handler, expected a " + Handler.class.getName()
                + ", a " + BlockingHandler.class.getName() + ", a " + WebSocketHandler.class.getName()
                + ", a RequestHandler or a RequestStreamHandler, or a method of it: " + className + "::name");
    }

    private static Class<?> find(String className) {
        ClassLoader loader = Thread.currentThread().getContextClassLoader();
        try {
            return Class.forName(className, true, loader == null ? HandlerLoader.class.getClassLoader() : loader);
        } catch (ClassNotFoundException e) {
            throw new IllegalArgumentException(
                    "no class " + className
                            + " on the class path, expected a full class name, with $ before a nested class",
                    e);
        }
    }

    /** It is there, but it, or what it needs, does not become a class. */
    private static String unloadable(LinkageError e) {
        if (e instanceof ExceptionInInitializerError && e.getCause() != null) {
            return "its static initialiser failed: " + PrintableText.startOf(e.getCause());
        }
        if (e instanceof UnsupportedClassVersionError) {
            return e.getMessage() + ", expected classes for Java "
                    + Runtime.version().feature() + " or older";
        }
        if (e instanceof NoClassDefFoundError) {
            return "it needs a missing class: " + e.getMessage() + ", expected its jar on the class path";
        }
        return "it cannot be loaded: " + e;
    }

    private static Handler function(Class<?> type, @Nullable String method, Map<String, String> variables) {
        if (LambdaHandler.class.isAssignableFrom(type)) {
            throw new IllegalArgumentException(type.getName()
                    + " is the entry point that Lambda calls, expected the handler that serves requests");
        }
        return FunctionHandler.of(type, method, variables);
    }
}
