package io.lambdadispatcher.it.fleet;

import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/** Forwards TCP connections to a port, and can be cut. */
final class Cable implements AutoCloseable {
    private final int target;
    private final ServerSocket server;
    private final Set<Socket> sockets = ConcurrentHashMap.newKeySet();
    private volatile boolean cut;

    Cable(int target) throws IOException {
        this.target = target;
        server = new ServerSocket(0, 100, InetAddress.getLoopbackAddress());
        daemon(this::accept);
    }

    int port() {
        return server.getLocalPort();
    }

    /** Closes all connections, and accepts none that works. */
    void cut() {
        cut = true;
        sockets.forEach(Cable::close);
    }

    void mend() {
        cut = false;
    }

    private void accept() {
        while (!server.isClosed()) {
            try {
                Socket near = server.accept();
                if (cut) {
                    near.close();
                    continue;
                }
                Socket far = new Socket(InetAddress.getLoopbackAddress(), target);
                sockets.add(near);
                sockets.add(far);
                daemon(() -> forward(near, far));
                daemon(() -> forward(far, near));
            } catch (IOException e) {
                // The cable is closed, or its target is.
            }
        }
    }

    private void forward(Socket from, Socket to) {
        try (from;
                to) {
            InputStream in = from.getInputStream();
            byte[] bytes = new byte[16_384];
            for (int read = in.read(bytes); read >= 0; read = in.read(bytes)) {
                to.getOutputStream().write(bytes, 0, read);
            }
        } catch (IOException e) {
            // One side has closed.
        } finally {
            sockets.remove(from);
            sockets.remove(to);
        }
    }

    private static void close(Socket socket) {
        try {
            socket.close();
        } catch (IOException e) {
            // It is closed.
        }
    }

    private static void daemon(Runnable task) {
        Thread thread = new Thread(task, "cable");
        thread.setDaemon(true);
        thread.start();
    }

    @Override
    public void close() throws IOException {
        cut();
        server.close();
    }
}
