package io.lambdadispatcher.worker;

import io.lambdadispatcher.worker.blocking.BlockingHandler;
import io.lambdadispatcher.worker.handler.Handler;

/** Makes the user's handler from its class name. */
final class HandlerLoader {
    /** Holds the name of a class with a public constructor without parameters, which is a {@link Handler} or a {@link BlockingHandler}. */
    static final String VARIABLE = "LAMBDA_DISPATCHER_HANDLER";

    private HandlerLoader() {}

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
