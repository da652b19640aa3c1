package io.lambdadispatcher.worker.adapter.function;

import com.amazonaws.lambda.thirdparty.com.fasterxml.jackson.core.StreamReadConstraints;
import com.amazonaws.services.lambda.runtime.CustomPojoSerializer;
import com.amazonaws.services.lambda.runtime.serialization.PojoSerializer;
import com.amazonaws.services.lambda.runtime.serialization.events.LambdaEventSerializers;
import com.amazonaws.services.lambda.runtime.serialization.factories.JacksonFactory;
import java.io.InputStream;
import java.io.OutputStream;
import java.lang.reflect.Type;
import java.util.Iterator;
import java.util.ServiceLoader;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Converts objects of one type from and to JSON. It uses AWS's own library, so that a class that
 * works on Lambda works here too. If the class path offers a {@link CustomPojoSerializer} as a
 * service, that one is used instead. Immutable; any thread.
 */
final class JsonConversion {
    private static final Logger log = LoggerFactory.getLogger(JsonConversion.class);

    private final PojoSerializer<Object> serializer;

    private JsonConversion(PojoSerializer<Object> serializer) {
        this.serializer = serializer;
    }

    /**
     * @throws NoClassDefFoundError if AWS's library is not on the class path, because this class
     *     cannot be loaded then
     */
    static JsonConversion of(Type type) {
        return new JsonConversion(serializer(type));
    }

    @SuppressWarnings("unchecked")
    private static PojoSerializer<Object> serializer(Type type) {
        CustomPojoSerializer custom = custom();
        if (custom != null) {
            return new Custom(custom, type);
        }
        allowLargeBodies();
        if (type instanceof Class<?> event && LambdaEventSerializers.isLambdaSupportedEvent(event.getName())) {
            return LambdaEventSerializers.serializerFor((Class<Object>) event, loader(event));
        }
        return JacksonFactory.getInstance().getSerializer(type);
    }

    private static @Nullable CustomPojoSerializer custom() {
        Iterator<CustomPojoSerializer> found =
                ServiceLoader.load(CustomPojoSerializer.class).iterator();
        CustomPojoSerializer first = found.hasNext() ? found.next() : null;
        if (found.hasNext()) {
            throw new IllegalArgumentException("more than one " + CustomPojoSerializer.class.getName() + ": "
                    + (first == null ? "" : first.getClass().getName()) + " and "
                    + found.next().getClass().getName() + ", expected one at most");
        }
        return first;
    }

    /**
     * Removes Jackson's limit of 20 million characters for a string. A body is one string, and the
     * worker accepts larger bodies than Lambda.
     */
    private static void allowLargeBodies() {
        try {
            JacksonFactory.getInstance()
                    .getMapper()
                    .getFactory()
                    .setStreamReadConstraints(StreamReadConstraints.builder()
                            .maxStringLength(Integer.MAX_VALUE)
                            .build());
        } catch (LinkageError e) {
            log.warn("bodies end at the limits of this version of aws-lambda-java-serialization: {}", e.toString());
        }
    }

    private static ClassLoader loader(Class<?> type) {
        ClassLoader own = type.getClassLoader();
        return own == null ? ClassLoader.getSystemClassLoader() : own;
    }

    @Nullable
    Object read(InputStream json) {
        return serializer.fromJson(json);
    }

    void write(@Nullable Object value, OutputStream json) {
        serializer.toJson(value, json);
    }

    /** Converts with the user's serializer. */
    private record Custom(CustomPojoSerializer custom, Type type) implements PojoSerializer<Object> {
        @Override
        public Object fromJson(InputStream input) {
            return custom.fromJson(input, type);
        }

        @Override
        public Object fromJson(String input) {
            return custom.fromJson(input, type);
        }

        @Override
        public void toJson(Object value, OutputStream output) {
            custom.toJson(value, output, type);
        }
    }
}
