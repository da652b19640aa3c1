package io.lambdadispatcher.it;

import io.lambdadispatcher.wire.testkit.Await;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import java.io.BufferedInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Clients that always have requests in flight, of 5 ms each, and repeat none. Each request without
 * a complete response of status 200 counts as lost, and so does each connection that is refused.
 */
final class LoadClients implements AutoCloseable {
    private static final int TIMEOUT_SECONDS = 60;
    /** The requests that a client of HTTP/2 has in flight. */
    static final int STREAMS = 5;

    /** Leaves the processors to the tests that run beside this one. */
    private static final String PATH = "/delay?delay=5";

    private static final byte[] REQUEST =
            ("GET " + PATH + " HTTP/1.1\r\nhost: localhost\r\n\r\n").getBytes(StandardCharsets.US_ASCII);

    private final int port;
    private final AtomicInteger served = new AtomicInteger();
    private final AtomicInteger connections = new AtomicInteger();
    private final ConcurrentLinkedQueue<String> lost = new ConcurrentLinkedQueue<>();
    private final List<Thread> threads = new ArrayList<>();
    private volatile boolean stopped;

    private LoadClients(int port) {
        this.port = port;
    }

    /** Starts clients with one connection and one request at a time each. */
    static LoadClients http1(int port, int clients) {
        LoadClients load = new LoadClients(port);
        load.start(clients, load::http1);
        return load;
    }

    /** Starts clients with one connection and five requests at a time each, without TLS. */
    static LoadClients http2(int port, int clients) {
        LoadClients load = new LoadClients(port);
        load.start(clients, load::http2);
        return load;
    }

    private void start(int clients, Runnable client) {
        for (int i = 0; i < clients; i++) {
            Thread thread = new Thread(client, "load-" + i);
            threads.add(thread);
            thread.start();
        }
    }

    int served() {
        return served.get();
    }

    /** Waits until each load has made progress, so a dispatcher serves it. */
    static void awaitProgress(List<LoadClients> loads, Duration most) {
        List<Integer> before = loads.stream().map(LoadClients::served).toList();
        Await.until("requests are served", most, () -> {
            for (int i = 0; i < before.size(); i++) {
                if (loads.get(i).served() < before.get(i) + 100) {
                    return false;
                }
            }
            return true;
        });
    }

    /** Returns how many connections were opened. */
    int connections() {
        return connections.get();
    }

    /** Returns what happened instead of the responses. */
    List<String> lost() {
        return List.copyOf(lost);
    }

    private void http1() {
        Socket socket = null;
        while (!stopped) {
            try {
                if (socket == null) {
                    socket = new Socket("127.0.0.1", port);
                    socket.setTcpNoDelay(true);
                    socket.setSoTimeout(TIMEOUT_SECONDS * 1000);
                    connections.incrementAndGet();
                }
                socket.getOutputStream().write(REQUEST);
                if (!isLast(new BufferedInputStream(socket.getInputStream()))) {
                    continue;
                }
            } catch (IOException e) {
                lost.add(e.toString());
            }
            close(socket);
            socket = null;
        }
        close(socket);
    }

    /** Reads a response, and returns whether the connection ends with it. */
    private boolean isLast(InputStream in) throws IOException {
        String head = head(in);
        int lengthAt = head.indexOf("content-length: ") + "content-length: ".length();
        in.readNBytes(Integer.parseInt(head.substring(lengthAt, head.indexOf('\r', lengthAt))));
        count(head.substring(9, 12));
        return head.contains("connection: close");
    }

    private static String head(InputStream in) throws IOException {
        StringBuilder head = new StringBuilder();
        while (head.indexOf("\r\n\r\n") < 0) {
            int next = in.read();
            if (next < 0) {
                throw new EOFException("closed after \"" + head + '"');
            }
            head.append((char) next);
        }
        return head.toString().toLowerCase(Locale.ROOT);
    }

    private void count(String status) {
        if (status.equals("200")) {
            served.incrementAndGet();
        } else {
            lost.add(status);
        }
    }

    private static void close(Socket socket) {
        try {
            if (socket != null) {
                socket.close();
            }
        } catch (IOException e) {
            // The peer has closed it before.
        }
    }

    private void http2() {
        Http2Connection connection = null;
        while (!stopped) {
            try {
                if (connection == null) {
                    connection = Http2Connection.to(port);
                    connections.incrementAndGet();
                }
                exchange(connection);
                if (!connection.isGoingAway()) {
                    continue;
                }
                close(connection);
            } catch (Exception e) {
                lost.add(e.toString());
            }
            connection = null;
        }
        close(connection);
    }

    private static void close(Http2Connection connection) {
        try {
            if (connection != null) {
                connection.close();
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private void exchange(Http2Connection connection) throws Exception {
        List<Http2Connection.Stream> streams = new ArrayList<>();
        for (int i = 0; i < STREAMS && !connection.isGoingAway(); i++) {
            streams.add(connection.open(
                    new DefaultHttp2Headers()
                            .method("GET")
                            .scheme("http")
                            .authority("localhost")
                            .path(PATH),
                    true));
        }
        for (Http2Connection.Stream stream : streams) {
            try {
                stream.ended.get(TIMEOUT_SECONDS, TimeUnit.SECONDS);
                count(stream.status());
            } catch (Exception e) {
                lost.add(e.toString());
            }
        }
    }

    /** Stops the clients after their requests in flight. */
    @Override
    public void close() throws InterruptedException {
        stopped = true;
        for (Thread thread : threads) {
            thread.join(TimeUnit.SECONDS.toMillis(2 * TIMEOUT_SECONDS));
        }
    }
}
