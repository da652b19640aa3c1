package io.lambdadispatcher.worker.internal.exchange;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Modifier;

/**
 * Makes the object of a class that a setting names, or says in one line why it cannot. Any thread.
 */
public final class UserClass {
    private UserClass() {}

    /**
     * @throws IllegalArgumentException names the class, what is wrong with it and what was
     *     expected; its cause is what the constructor threw
     */
    public static Object newInstance(Class<?> type) {
        try {
            return type.getConstructor().newInstance();
        } catch (InvocationTargetException e) {
            Throwable cause = e.getCause() == null ? e : e.getCause();
            throw new IllegalArgumentException("the constructor of " + type.getName() + " failed: " + cause, cause);
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
