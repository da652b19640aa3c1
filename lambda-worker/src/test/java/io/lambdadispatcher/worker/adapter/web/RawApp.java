package io.lambdadispatcher.worker.adapter.web;

import io.lambdadispatcher.wire.testkit.Await;
import java.io.ByteArrayOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * An application that reads and writes bytes. A script serves each connection on its own thread.
 */
final class RawApp implements AutoCloseable {
    /** Serves one connection. */
    interface Script {
        void serve(Connection connection) throws Exception;
    }

    /** One connection, for the script's thread. */
    static final class Connection {
        final Socket socket;
        final InputStream in;
        final OutputStream out;
        final int index;

        Connection(Socket socket, int index) throws IOException {
            this.socket = socket;
            this.in = socket.getInputStream();
            this.out = socket.getOutputStream();
            this.index = index;
        }

        /**
         * @return the headers with their empty line, or an empty text at the end of the connection
         */
        String readHead() throws IOException {
            ByteArrayOutputStream head = new ByteArrayOutputStream();
            while (!head.toString(StandardCharsets.ISO_8859_1).endsWith("\r\n\r\n")) {
                int value = in.read();
                if (value < 0) {
                    return "";
                }
                head.write(value);
            }
            return head.toString(StandardCharsets.ISO_8859_1);
        }

        String read(int bytes) throws IOException {
            byte[] data = in.readNBytes(bytes);
            if (data.length < bytes) {
                throw new EOFException("got " + data.length + " bytes, expected " + bytes);
            }
            return new String(data, StandardCharsets.ISO_8859_1);
        }

        void write(String text) throws IOException {
            out.write(text.getBytes(StandardCharsets.ISO_8859_1));
            out.flush();
        }

        /** Waits until the other side closes, and drops what arrives. */
        void awaitEnd() throws IOException {
            in.transferTo(OutputStream.nullOutputStream());
        }

        /** Closes the connection with a reset. */
        void reset() throws IOException {
            socket.setSoLinger(true, 0);
            socket.close();
        }
    }

    private final ServerSocket server;
    private final Script script;
    private final List<Socket> sockets = new CopyOnWriteArrayList<>();
    private final BlockingQueue<String> ended = new LinkedBlockingQueue<>();
    private final AtomicInteger connections = new AtomicInteger();

    /** Messages of scripts to the test. */
    final BlockingQueue<String> heard = new LinkedBlockingQueue<>();

    RawApp(Script script) throws IOException {
        this.server = new ServerSocket(0, 128, InetAddress.getLoopbackAddress());
        this.script = script;
        daemon(this::accept);
    }

    int connections() {
        return connections.get();
    }

    InetSocketAddress address() {
        return new InetSocketAddress("127.0.0.1", server.getLocalPort());
    }

    WebConfig config() {
        return builder().build();
    }

    WebConfig.Builder builder() {
        return WebConfig.builder(address());
    }

    String takeHeard() throws InterruptedException {
        return heard.poll(20, TimeUnit.SECONDS);
    }

    /**
     * Waits until all sockets of this side are closed. On loopback, the other side's kernel then
     * knows.
     */
    void awaitClosed() {
        Await.until("all are closed", sockets::isEmpty);
    }

    /** Waits until a script has returned or thrown. */
    String takeEnded() throws InterruptedException {
        return ended.poll(20, TimeUnit.SECONDS);
    }

    private void accept() {
        try {
            while (true) {
                Socket socket = server.accept();
                socket.setTcpNoDelay(true);
                sockets.add(socket);
                Connection connection = new Connection(socket, connections.getAndIncrement());
                daemon(() -> serve(connection));
            }
        } catch (IOException e) {
            // Closed.
        }
    }

    private void serve(Connection connection) {
        String end = "returned";
        try (Socket socket = connection.socket) {
            script.serve(connection);
        } catch (Exception e) {
            end = e.toString();
        }
        sockets.remove(connection.socket);
        ended.add(end);
    }

    private static void daemon(Runnable task) {
        Thread thread = new Thread(task, "raw-app");
        thread.setDaemon(true);
        thread.start();
    }

    @Override
    public void close() throws IOException {
        server.close();
        for (Socket socket : sockets) {
            socket.close();
        }
    }
}
