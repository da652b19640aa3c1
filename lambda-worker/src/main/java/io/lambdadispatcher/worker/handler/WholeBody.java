package io.lambdadispatcher.worker.handler;

/** Receives a whole body. Called on the event loop, which it must not block. */
@FunctionalInterface
public interface WholeBody {
    /**
     * @param bytes empty if there is no body
     * @throws Exception fails the request, as from {@link Handler#handle}
     */
    void accept(byte[] bytes) throws Exception;
}
