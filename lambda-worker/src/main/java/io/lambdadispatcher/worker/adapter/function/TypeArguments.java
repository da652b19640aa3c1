package io.lambdadispatcher.worker.adapter.function;

import java.lang.reflect.ParameterizedType;
import java.lang.reflect.Type;
import java.lang.reflect.TypeVariable;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Finds the type arguments that a class gives to a generic interface, directly or through other
 * types.
 */
final class TypeArguments {
    private final Class<?> wanted;

    private TypeArguments(Class<?> wanted) {
        this.wanted = wanted;
    }

    /** @throws IllegalArgumentException if the class leaves an argument open */
    static Type[] of(Class<?> type, Class<?> genericInterface) {
        Type[] found = new TypeArguments(genericInterface).search(type, Map.of());
        if (found == null) {
            throw open(type, genericInterface, "its types");
        }
        for (Type argument : found) {
            if (argument instanceof TypeVariable<?> variable && isUnbounded(variable)) {
                throw open(type, genericInterface, variable.getName());
            }
        }
        return found;
    }

    private static IllegalArgumentException open(Class<?> type, Class<?> genericInterface, String what) {
        return new IllegalArgumentException(type.getName() + " leaves open " + what + " of "
                + genericInterface.getSimpleName() + ", expected types to convert events to");
    }

    private static boolean isUnbounded(TypeVariable<?> variable) {
        return Arrays.equals(variable.getBounds(), new Type[] {Object.class});
    }

    /** @param known the arguments of {@code type}'s parameters */
    private Type @Nullable [] search(Type type, Map<TypeVariable<?>, Type> known) {
        Class<?> raw = rawClass(type);
        if (raw == null || !wanted.isAssignableFrom(raw)) {
            return null;
        }
        if (type instanceof ParameterizedType parameterized) {
            Type[] arguments = substituteAll(parameterized.getActualTypeArguments(), known);
            return raw == wanted ? arguments : searchAbove(raw, variables(raw, arguments));
        }
        return raw == wanted ? null : searchAbove(raw, Map.of());
    }

    private Type @Nullable [] searchAbove(Class<?> raw, Map<TypeVariable<?>, Type> known) {
        for (Type above : raw.getGenericInterfaces()) {
            Type[] found = search(above, known);
            if (found != null) {
                return found;
            }
        }
        Type above = raw.getGenericSuperclass();
        return above == null ? null : search(above, known);
    }

    private static Map<TypeVariable<?>, Type> variables(Class<?> raw, Type[] arguments) {
        Map<TypeVariable<?>, Type> known = new HashMap<>();
        TypeVariable<?>[] parameters = raw.getTypeParameters();
        for (int i = 0; i < parameters.length; i++) {
            known.put(parameters[i], arguments[i]);
        }
        return known;
    }

    private static Type[] substituteAll(Type[] types, Map<TypeVariable<?>, Type> known) {
        return Arrays.stream(types).map(type -> substitute(type, known)).toArray(Type[]::new);
    }

    private static Type substitute(Type type, Map<TypeVariable<?>, Type> known) {
        if (type instanceof TypeVariable<?> variable) {
            return known.getOrDefault(variable, variable);
        }
        if (type instanceof ParameterizedType parameterized) {
            return new Substituted(
                    List.of(substituteAll(parameterized.getActualTypeArguments(), known)),
                    parameterized.getRawType(),
                    parameterized.getOwnerType());
        }
        return type;
    }

    static @Nullable Class<?> rawClass(@Nullable Type type) {
        if (type instanceof Class<?> plain) {
            return plain;
        }
        return type instanceof ParameterizedType parameterized ? (Class<?>) parameterized.getRawType() : null;
    }

    /** A type with its variables replaced, such as {@code Map<String, T>} if T is known. */
    private record Substituted(
            List<Type> arguments, Type raw, @Nullable Type owner) implements ParameterizedType {
        @Override
        public Type[] getActualTypeArguments() {
            return arguments.toArray(Type[]::new);
        }

        @Override
        public Type getRawType() {
            return raw;
        }

        @Override
        public @Nullable Type getOwnerType() {
            return owner;
        }
    }
}
