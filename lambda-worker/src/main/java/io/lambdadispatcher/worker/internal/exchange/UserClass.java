package io.lambdadispatcher.worker.internal.exchange;

import io.lambdadispatcher.wire.http.PrintableText;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Modifier;

/**
 * Creates an object of a class that a setting names, or says in one line why that fails. Any
 * thread.
 */
public final class UserClass {
    private UserClass() {}

    /**
     * @throws IllegalArgumentException its message has the class, the error and what was expected;
     *     its cause is the exception of the constructor
     */
    public static Object newInstance(Class<?> type) {
        try {
            return type.getConstructor().newInstance();
        } catch (InvocationTargetException e) {
            Throwable cause = e.getCause() == null ? e : e.getCause();
            throw new IllegalArgumentException(
                    "the constructor of " + type.getName() + " failed: " + PrintableText.startOf(cause), cause);
        } catch (ReflectiveOperationException e) {
            throw new IllegalArgumentException(
                    type.getName() + " " + obstacle(type)
                            + ", expected a public class with a public constructor without parameters",
                    e);
        }
    }

    private static String obstacle(Class<?> type) {
        int modifiers = type.getModifiers();
        if (type.isInterface()) {
            return "is an interface";
        }
        if (Modifier.isAbstract(modifiers)) {
            return "is abstract";
        }
        if (type.getEnclosingClass() != null && !Modifier.isStatic(modifiers)) {
            return "is an inner class";
        }
        return Modifier.isPublic(modifiers) ? "has other constructors" : "is not public";
    }
}
