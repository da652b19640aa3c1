package io.lambdadispatcher.worker.aws;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketException;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * An HTTP/1.1 server that closes idle connections when the test says so. It can also forget them,
 * so that bytes that are written to them are answered with a reset, as by a NAT gateway. It has one
 * thread for each connection.
 */
final class ImpatientServer implements AutoCloseable {
    private static final byte[] ANSWER =
            "HTTP/1.1 200 OK\r\ncontent-type: application/x-amz-json-1.0\r\ncontent-length: 2\r\n\r\n{}"
                    .getBytes(StandardCharsets.US_ASCII);

    private final ServerSocket listener = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
    private final List<Socket> open = new ArrayList<>();
    private final AtomicInteger accepted = new AtomicInteger();
    private final AtomicInteger requests = new AtomicInteger();
    private volatile CountDownLatch held = new CountDownLatch(0);

    ImpatientServer() throws IOException {
        Thread accepting = new Thread(this::accept, "impatient-server");
        accepting.setDaemon(true);
        accepting.start();
    }

    URI endpoint() {
        return URI.create("http://127.0.0.1:" + listener.getLocalPort());
    }

    int accepted() {
        return accepted.get();
    }

    int requests() {
        return requests.get();
    }

    synchronized int open() {
        return open.size();
    }

    /** Sends no responses until the latch is counted down. */
    void hold(CountDownLatch until) {
        held = until;
    }

    /**
     * Waits until that many connections are open, because a client's close passes through the
     * kernel.
     */
    synchronized void awaitOpen(int connections) throws InterruptedException {
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(20);
        while (open.size() != connections) {
            long leftMillis = TimeUnit.NANOSECONDS.toMillis(deadline - System.nanoTime());
            if (leftMillis <= 0) {
                throw new AssertionError(open.size() + " connections are open, expected " + connections);
            }
            wait(leftMillis);
        }
    }

    /** Closes all connections with a reset. The client notices only if it looks. */
    synchronized void resetAll() throws IOException {
        for (Socket socket : open) {
            socket.setSoLinger(true, 0);
            socket.close();
        }
        // Their threads notice later. A closed connection must not be reset again.
        open.clear();
        notifyAll();
    }

    private void accept() {
        try {
            while (true) {
                Socket socket = listener.accept();
                accepted.incrementAndGet();
                synchronized (this) {
                    open.add(socket);
                    notifyAll();
                }
                Thread serving = new Thread(() -> serve(socket), "impatient-connection");
                serving.setDaemon(true);
                serving.start();
            }
        } catch (IOException e) {
            // Closed.
        }
    }

    private void serve(Socket socket) {
        try (socket) {
            BufferedReader in =
                    new BufferedReader(new InputStreamReader(socket.getInputStream(), StandardCharsets.ISO_8859_1));
            OutputStream out = socket.getOutputStream();
            while (readRequest(in)) {
                requests.incrementAndGet();
                held.await();
                out.write(ANSWER);
            }
        } catch (SocketException e) {
            // Reset by either side.
        } catch (IOException | InterruptedException e) {
            throw new AssertionError(e);
        } finally {
            synchronized (this) {
                open.remove(socket);
                notifyAll();
            }
        }
    }

    private static boolean readRequest(BufferedReader in) throws IOException {
        String line = in.readLine();
        if (line == null) {
            return false;
        }
        int length = 0;
        while (!line.isEmpty()) {
            String lower = line.toLowerCase(Locale.ROOT);
            if (lower.startsWith("content-length:")) {
                length = Integer.parseInt(
                        lower.substring("content-length:".length()).trim());
            }
            line = in.readLine();
        }
        for (int i = 0; i < length; i++) {
            in.read();
        }
        return true;
    }

    @Override
    public void close() throws IOException {
        listener.close();
        synchronized (this) {
            for (Socket socket : List.copyOf(open)) {
                socket.close();
            }
        }
    }
}
