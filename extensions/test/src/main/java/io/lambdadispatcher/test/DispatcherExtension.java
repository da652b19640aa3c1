package io.lambdadispatcher.test;

import io.lambdadispatcher.worker.blocking.BlockingHandler;
import io.lambdadispatcher.worker.handler.Handler;
import java.lang.reflect.Constructor;
import java.util.Objects;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.ExtensionContext.Namespace;
import org.junit.jupiter.api.extension.ParameterContext;
import org.junit.jupiter.api.extension.ParameterResolver;

/**
 * Starts the dispatcher of {@link LambdaDispatcherTest} when the first test asks for it. JUnit
 * closes it with the class.
 */
final class DispatcherExtension implements ParameterResolver {
    private static final Namespace NAMESPACE = Namespace.create(DispatcherExtension.class);

    @Override
    public boolean supportsParameter(ParameterContext parameter, ExtensionContext context) {
        return parameter.getParameter().getType() == TestDispatcher.class;
    }

    @Override
    @SuppressWarnings("deprecation") // JUnit 5 does not have the method's replacement.
    public TestDispatcher resolveParameter(ParameterContext parameter, ExtensionContext context) {
        Class<?> type = annotated(context.getRequiredTestClass());
        Started started = outermost(context)
                .getStore(NAMESPACE)
                .getOrComputeIfAbsent(type, DispatcherExtension::start, Started.class);
        return Objects.requireNonNull(started).dispatcher();
    }

    /**
     * Returns the context of the outermost class. Its store is closed after the last test of that
     * class.
     */
    private static ExtensionContext outermost(ExtensionContext context) {
        ExtensionContext at = context;
        for (ExtensionContext parent = at.getParent().orElse(null);
                parent != null && parent.getTestClass().isPresent();
                parent = at.getParent().orElse(null)) {
            at = parent;
        }
        return at;
    }

    /** Returns the annotated class. Nested classes use the dispatcher of the class around them. */
    private static Class<?> annotated(Class<?> type) {
        for (Class<?> at = type; at != null; at = at.getEnclosingClass()) {
            if (at.isAnnotationPresent(LambdaDispatcherTest.class)) {
                return at;
            }
        }
        throw new IllegalStateException(
                type + " and the classes around it, expected @LambdaDispatcherTest on one of them");
    }

    private static Started start(Class<?> type) {
        Class<?> handler = type.getAnnotation(LambdaDispatcherTest.class).value();
        Object made = make(handler);
        if (made instanceof Handler asynchronous) {
            return new Started(TestDispatcher.serving(asynchronous));
        }
        if (made instanceof BlockingHandler blocking) {
            return new Started(TestDispatcher.serving(blocking));
        }
        throw new IllegalArgumentException(
                "@LambdaDispatcherTest(" + handler.getName() + "), expected a class that implements "
                        + Handler.class.getName() + " or " + BlockingHandler.class.getName());
    }

    private static Object make(Class<?> handler) {
        try {
            Constructor<?> constructor = handler.getDeclaredConstructor();
            constructor.setAccessible(true);
            return constructor.newInstance();
        } catch (ReflectiveOperationException e) {
            throw new IllegalArgumentException(
                    "@LambdaDispatcherTest(" + handler.getName()
                            + "), expected a class with a constructor without parameters",
                    e);
        }
    }

    /** The entry of JUnit's store, which JUnit closes. */
    @SuppressWarnings("deprecation") // JUnit 5 only closes entries of this type.
    private record Started(TestDispatcher dispatcher)
            implements ExtensionContext.Store.CloseableResource, AutoCloseable {
        @Override
        public void close() {
            dispatcher.close();
        }
    }
}
