package io.lambdadispatcher.core.spi;

/**
 * Serves requests inside of the program that embeds the dispatcher, with code that may block. It is
 * a base worker without a connection: see {@link
 * io.lambdadispatcher.core.DispatcherBuilder#inProcess(String, InProcessHandler, int)}.
 *
 * <pre>{@code
 * InProcessHandler echo = (request, response) -> request.body().transferTo(response.body());
 * }</pre>
 *
 * <p><b>Threading.</b> Each request has its own thread, which is virtual on JDK 21 and newer. It is
 * never an event loop. There are at most as many calls at a time as the concurrency that was given
 * with the handler: a call counts until it returns, also when its response is no longer needed.
 *
 * <p><b>Errors.</b> A handler that throws fails this request only: the client gets 500 or, if the
 * response has begun, an incomplete response. The exception is logged.
 *
 * <p><b>Cancellation.</b> If the client leaves, or there is no complete response within the
 * request's time, the thread is interrupted, and reading and writing throw {@link
 * java.io.IOException}.
 */
@FunctionalInterface
public interface InProcessHandler {
    /**
     * Serves a request. The response ends when this returns.
     *
     * @param request usable only until this returns
     * @param response usable only until this returns
     * @throws Exception the request fails
     */
    void handle(InProcessRequest request, InProcessResponse response) throws Exception;
}
