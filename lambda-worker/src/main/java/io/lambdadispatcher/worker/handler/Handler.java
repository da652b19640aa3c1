package io.lambdadispatcher.worker.handler;

/**
 * Serves requests, many at once. One instance serves all connections of the worker, so it is called on several event loops.
 */
@FunctionalInterface
public interface Handler {
    /**
     * Starts to serve one request; need not have finished when it returns. Called on the event loop of the connection: must not
     * block.
     *
     * @throws Exception fails this request only: 500 to the client if no head was sent, a broken response otherwise
     */
    void handle(Request request, Response response) throws Exception;
}
