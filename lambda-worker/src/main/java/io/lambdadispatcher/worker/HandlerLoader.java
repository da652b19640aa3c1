package io.lambdadispatcher.worker;

import io.lambdadispatcher.worker.blocking.BlockingHandler;
import io.lambdadispatcher.worker.handler.Handler;
import io.lambdadispatcher.worker.web.WebEnvironment;
import io.lambdadispatcher.worker.web.WebHandler;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Makes the user's handler from its class name. */
final class HandlerLoader {
    /** Holds the name of a class with a public constructor without parameters, which is a {@link Handler} or a {@link BlockingHandler}. */
    static final String VARIABLE = "LAMBDA_DISPATCHER_HANDLER";

    private HandlerLoader() {}

    /**
     * @return {@code null} if no variable chooses one
     * @throws IllegalArgumentException if two do, or the one chosen cannot be made
     */
    static @Nullable Handler choose(Map<String, String> variables) {
        String className = variables.get(VARIABLE);
        boolean named = className != null && !className.isBlank();
        String web = WebEnvironment.chosenBy(variables);
        if (named && web != null) {
            throw new IllegalArgumentException("both " + VARIABLE + " and " + web + " are set, expected one of them");
        }
        if (className != null && named) {
            return load(className);
        }
        boolean isWeb = web != null || WebEnvironment.isPortGiven(variables);
        return isWeb ? new WebHandler(WebEnvironment.read(variables)) : null;
    }

    /** @throws IllegalArgumentException if there is no such class, or it is something else */
    static Handler load(String className) {
        Object made;
        try {
            ClassLoader loader = Thread.currentThread().getContextClassLoader();
            Class<?> type =
                    Class.forName(className, true, loader == null ? HandlerLoader.class.getClassLoader() : loader);
            made = type.getConstructor().newInstance();
        } catch (ReflectiveOperationException | LinkageError e) {
            throw new IllegalArgumentException(
                    VARIABLE + " is '" + className
                            + "', expected a class with a public constructor without parameters: " + e,
                    e);
        }
        if (made instanceof Handler handler) {
            return handler;
        }
        if (made instanceof BlockingHandler blocking) {
            return blocking.asHandler();
        }
        throw new IllegalArgumentException(VARIABLE + " is '" + className + "', expected a " + Handler.class.getName()
                + " or a " + BlockingHandler.class.getName());
    }
}
