package io.lambdadispatcher.worker.adapter.function;

import com.amazonaws.services.lambda.runtime.Context;
import java.io.InputStream;
import java.io.OutputStream;
import java.lang.reflect.Type;
import java.nio.charset.StandardCharsets;
import org.jspecify.annotations.Nullable;

/** Calls code that takes and returns objects, and converts these from and to JSON. */
final class PojoFunction implements UserFunction {
    private static final byte[] NULL = "null".getBytes(StandardCharsets.US_ASCII);

    private final @Nullable Type inputType;
    private final @Nullable JsonConversion input;
    private final @Nullable JsonConversion output;
    private final Code code;

    /**
     * @param inputType {@code null} if the code takes no event
     * @param outputType {@code void} or {@code Void} if the code returns nothing. The result is
     *     {@code null} in JSON then
     * @throws IllegalArgumentException if AWS's library is not on the class path
     */
    PojoFunction(@Nullable Type inputType, Type outputType, Code code) {
        this.inputType = inputType;
        this.input = inputType == null ? null : conversion(inputType);
        this.output = outputType == void.class || outputType == Void.class ? null : conversion(outputType);
        this.code = code;
    }

    private static JsonConversion conversion(Type type) {
        try {
            return JsonConversion.of(type);
        } catch (NoClassDefFoundError e) {
            throw new IllegalArgumentException(
                    "cannot convert JSON and " + type.getTypeName() + ", expected"
                            + " com.amazonaws:aws-lambda-java-serialization on the class path: " + e,
                    e);
        }
    }

    @Override
    public @Nullable Type inputType() {
        return inputType;
    }

    @Override
    public void call(InputStream event, OutputStream result, Context context) throws Throwable {
        Object given = code.call(input == null ? null : input.read(event), context);
        if (output == null) {
            result.write(NULL);
        } else {
            output.write(given, result);
        }
    }

    /** The user's code. */
    @FunctionalInterface
    interface Code {
        @Nullable
        Object call(@Nullable Object input, Context context) throws Throwable;
    }
}
