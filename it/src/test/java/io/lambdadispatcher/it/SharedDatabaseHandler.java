package io.lambdadispatcher.it;

import io.lambdadispatcher.worker.handler.DownstreamShareListener;
import io.lambdadispatcher.worker.handler.Handler;
import io.lambdadispatcher.worker.handler.Request;
import io.lambdadispatcher.worker.handler.Response;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.Socket;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

/** Keeps as many connections to the test's database open as its worker may have. */
public final class SharedDatabaseHandler implements Handler, DownstreamShareListener {
    static final String PORT = "TEST_DATABASE_PORT";

    private final Deque<Socket> connections = new ArrayDeque<>();
    private volatile int share;

    @Override
    public void handle(Request request, Response response) {
        response.respond(200, share + " " + System.getenv("LAMBDA_DISPATCHER_DOWNSTREAM_SHARE"));
    }

    @Override
    public CompletionStage<?> onDownstreamShare(int most) {
        share = most;
        return CompletableFuture.runAsync(() -> resize(most));
    }

    private synchronized void resize(int most) {
        try {
            while (connections.size() > most) {
                connections.pop().close();
            }
            while (connections.size() < most) {
                connections.push(new Socket(InetAddress.getLoopbackAddress(), Integer.parseInt(System.getenv(PORT))));
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
