package io.lambdadispatcher.worker.adapter.function;

import com.amazonaws.services.lambda.runtime.Context;
import java.io.InputStream;
import java.io.OutputStream;
import java.lang.reflect.Type;
import org.jspecify.annotations.Nullable;

/**
 * The user's code in Lambda's form: the JSON of an event in, the JSON of a result out. Called
 * concurrently on any thread.
 */
interface UserFunction {
    /**
     * Serves one event.
     *
     * @throws Throwable the exception of the user's code, unchanged
     */
    void call(InputStream event, OutputStream result, Context context) throws Throwable;

    /**
     * Returns the type that events are converted to, or {@code null} if the code takes bytes or no
     * event.
     */
    @Nullable
    Type inputType();
}
