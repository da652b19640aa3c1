package io.lambdadispatcher.worker;

import io.lambdadispatcher.worker.config.WorkerConfig;
import io.lambdadispatcher.worker.handler.DrainReason;
import io.lambdadispatcher.worker.handler.Handler;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Lets a worker connect to a socket of this process and ends it, so that the classes of a worker
 * are loaded before a launch needs them. This happens where nobody waits for it: in init-only
 * invocations, and in initialisations that Lambda makes ahead, with SnapStart and provisioned
 * concurrency. No socket and no thread of it remains.
 */
final class Rehearsal {
    /** It takes a second on a third of a processor. */
    static final int LONGEST_MILLIS = 4_000;

    /** Has no secret and no TLS, so that no random numbers are made. */
    private static final String PAYLOAD = """
            {"function": "rehearsal", "workerId": "rehearsal", "token": "rehearsal", "addresses": ["127.0.0.1:%d"],
             "tls": false, "connections": 1, "streams": 1, "drainGraceMillis": 0}""";

    private static final Handler NOBODY = (request, response) -> response.respond(404, "");
    private static final Logger log = LoggerFactory.getLogger(Rehearsal.class);

    private Rehearsal() {}

    /**
     * Returns within {@link #LONGEST_MILLIS}, except for scheduling delays. Any thread.
     *
     * @return whether a worker connected and spoke. If not, a launch loads the rest
     */
    static boolean run() {
        try (ServerSocket server = new ServerSocket(0, 1, InetAddress.getByName("127.0.0.1"))) {
            server.setSoTimeout(LONGEST_MILLIS / 2);
            // The handler's connection pools must not be made for the one stream of this worker.
            Worker worker =
                    new Worker(WorkerConfig.ofPayload(PAYLOAD.formatted(server.getLocalPort())), NOBODY, null).start();
            try (Socket connection = server.accept()) {
                connection.setSoTimeout(LONGEST_MILLIS / 4);
                return connection.getInputStream().read() >= 0;
            } finally {
                worker.drain(DrainReason.REQUESTED);
                worker.done().toCompletableFuture().get(LONGEST_MILLIS / 4, TimeUnit.MILLISECONDS);
            }
        } catch (IOException | ExecutionException | TimeoutException | RuntimeException | LinkageError e) {
            // Nothing of it may fail an initialisation that works without it.
            log.debug("the rehearsal has failed", e);
            return false;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return false;
        }
    }
}
