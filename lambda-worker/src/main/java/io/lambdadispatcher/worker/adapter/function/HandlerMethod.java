package io.lambdadispatcher.worker.adapter.function;

import com.amazonaws.services.lambda.runtime.Context;
import io.lambdadispatcher.worker.internal.exchange.UserClass;
import java.io.InputStream;
import java.io.OutputStream;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.lang.reflect.Type;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * A public method that is a handler. Its class and its result may be of any type. It must have one
 * of these parameter lists:
 *
 * <pre>
 * ()   (Context)   (T)   (T, Context)
 * (InputStream)   (InputStream, Context)
 * (InputStream, OutputStream)   (InputStream, OutputStream, Context)
 * (OutputStream)  (OutputStream, Context)
 * </pre>
 *
 * If several methods have the name, the one with the most parameters is used, as on Lambda. {@code
 * Context} counts as two, and the compiler's bridge methods come last.
 */
final class HandlerMethod {
    private static final Comparator<Method> BEST_FIRST = Comparator.comparing(Method::isBridge)
            .thenComparing(Comparator.comparingInt(HandlerMethod::weight).reversed());

    private final Method method;
    private final @Nullable Object instance;

    private HandlerMethod(Method method, @Nullable Object instance) {
        this.method = method;
        this.instance = instance;
    }

    /**
     * @throws IllegalArgumentException if there is no such method, or its class cannot be
     *     instantiated
     */
    static HandlerMethod of(Class<?> type, String name) {
        Method found = Arrays.stream(type.getMethods())
                .filter(method -> method.getName().equals(name) && isHandler(method))
                .min(BEST_FIRST)
                .orElseThrow(() -> unfit(type, name));
        boolean isStatic = Modifier.isStatic(found.getModifiers());
        return new HandlerMethod(found, isStatic ? null : UserClass.newInstance(type));
    }

    private static IllegalArgumentException unfit(Class<?> type, String name) {
        List<String> found = Arrays.stream(type.getMethods())
                .filter(method -> method.getName().equals(name))
                .map(HandlerMethod::parameters)
                .toList();
        boolean hidden = Arrays.stream(type.getDeclaredMethods())
                .anyMatch(method -> method.getName().equals(name));
        String what = found.isEmpty()
                ? " has no " + (hidden ? "public method " : "method ") + name
                : " has " + name + String.join(" and " + name, found);
        return new IllegalArgumentException(type.getName() + what + ", expected a public " + name + "(event), " + name
                + "(event, Context) or " + name + "(InputStream, OutputStream)");
    }

    private static String parameters(Method method) {
        return Arrays.stream(method.getParameterTypes())
                .map(Class::getSimpleName)
                .collect(Collectors.joining(", ", "(", ")"));
    }

    private static boolean isHandler(Method method) {
        Class<?>[] parameters = method.getParameterTypes();
        int rest = parameters.length - (endsWithContext(parameters) ? 1 : 0);
        return switch (rest) {
            case 0 -> true;
            case 1 -> parameters[0] != Context.class;
            case 2 -> parameters[0] == InputStream.class && parameters[1] == OutputStream.class;
            default -> false;
        };
    }

    private static int weight(Method method) {
        Class<?>[] parameters = method.getParameterTypes();
        return parameters.length + (endsWithContext(parameters) ? 1 : 0);
    }

    private static boolean endsWithContext(Class<?>[] parameters) {
        return parameters.length > 0 && parameters[parameters.length - 1] == Context.class;
    }

    UserFunction toFunction() {
        Class<?>[] parameters = method.getParameterTypes();
        boolean ofStreams = Arrays.stream(parameters).anyMatch(HandlerMethod::isStream);
        if (ofStreams) {
            return new StreamMethod();
        }
        boolean takesEvent = parameters.length > 0 && parameters[0] != Context.class;
        Type input = takesEvent ? method.getGenericParameterTypes()[0] : null;
        return new PojoFunction(input, method.getGenericReturnType(), (event, context) -> invoke(event, null, context));
    }

    private static boolean isStream(Class<?> type) {
        return type == InputStream.class || type == OutputStream.class;
    }

    /** @param event of the method's parameter type; {@code null} if the method takes none */
    private @Nullable Object invoke(@Nullable Object event, @Nullable OutputStream result, Context context)
            throws Throwable {
        Class<?>[] parameters = method.getParameterTypes();
        @Nullable Object[] arguments = new Object[parameters.length];
        for (int i = 0; i < parameters.length; i++) {
            arguments[i] =
                    parameters[i] == Context.class ? context : parameters[i] == OutputStream.class ? result : event;
        }
        try {
            return method.invoke(instance, arguments);
        } catch (InvocationTargetException e) {
            throw e.getCause() == null ? e : e.getCause();
        }
    }

    /**
     * A method that reads or writes bytes. A return value is ignored. Without an {@code
     * OutputStream}, the result is {@code null} in JSON.
     */
    private final class StreamMethod implements UserFunction {
        @Override
        public void call(InputStream event, OutputStream result, Context context) throws Throwable {
            invoke(event, result, context);
            if (Arrays.stream(method.getParameterTypes()).noneMatch(type -> type == OutputStream.class)) {
                result.write(new byte[] {'n', 'u', 'l', 'l'});
            }
        }

        @Override
        public @Nullable Type inputType() {
            return null;
        }
    }
}
