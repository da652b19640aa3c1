package io.lambdadispatcher.worker.adapter.function;

import com.amazonaws.services.lambda.runtime.Context;
import java.io.InputStream;
import java.io.OutputStream;
import java.lang.reflect.Type;
import org.jspecify.annotations.Nullable;

/**
 * The user's code as Lambda sees it, an event's JSON in, a result's JSON out, whatever its types.
 * Any thread, many at once.
 */
interface UserFunction {
    /**
     * One event.
     *
     * @throws Throwable what the user's code threw, as it threw it
     */
    void call(InputStream event, OutputStream result, Context context) throws Throwable;

    /** What the event is converted to; {@code null} where the code takes the bytes, or no event. */
    @Nullable
    Type inputType();
}
