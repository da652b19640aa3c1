package io.lambdadispatcher.worker.adapter.web;

import io.lambdadispatcher.wire.http.HeaderSyntax;
import io.lambdadispatcher.worker.adapter.web.WebConfig.Probe;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Probes the application on a separate thread until it is ready. */
final class ReadinessProbe {
    private static final int ATTEMPT_TIMEOUT_MILLIS = 2_000;
    private static final int REST_TIMEOUT_MILLIS = 20;
    private static final int MOST_REST_BYTES = 64 * 1024;
    private static final long REPORT_NANOS = TimeUnit.SECONDS.toNanos(2);
    private static final int STATUS_LINE_BYTES = 12;

    private static final Logger log = LoggerFactory.getLogger(ReadinessProbe.class);

    private final ReadinessCheck check;
    private final InetSocketAddress address;
    private final CompletableFuture<Void> ready = new CompletableFuture<>();
    private String lastAnswer = "it has not been checked yet";

    private ReadinessProbe(ReadinessCheck check, String host) {
        this.check = check;
        this.address = new InetSocketAddress(host, check.port());
    }

    /**
     * Starts a thread that probes the application.
     *
     * @return completes when the application is ready. Fails if it is not ready within the limit.
     *     Cancelling it ends the probes
     */
    static CompletableFuture<Void> start(ReadinessCheck check, String host) {
        ReadinessProbe probe = new ReadinessProbe(check, host);
        Thread thread = new Thread(probe::run, "app-readiness");
        thread.setDaemon(true);
        thread.start();
        return probe.ready;
    }

    private void run() {
        long startNanos = System.nanoTime();
        long reportNanos = startNanos + REPORT_NANOS;
        while (!ready.isDone() && !attempt()) {
            long now = System.nanoTime();
            if (now - startNanos >= check.limit().toNanos()) {
                ready.completeExceptionally(new TimeoutException(notReady(check.limit())));
                return;
            }
            if (now - reportNanos >= 0) {
                log.info(notReady(Duration.ofNanos(now - startNanos)));
                reportNanos = now + REPORT_NANOS;
            }
            if (!pause()) {
                return;
            }
        }
        if (ready.complete(null)) {
            log.info("the app at {} is ready after {} ms", address, (System.nanoTime() - startNanos) / 1_000_000);
        }
    }

    private String notReady(Duration after) {
        return "the app at " + address + " is not ready after " + after.toMillis() + " ms: " + lastAnswer;
    }

    private boolean pause() {
        try {
            TimeUnit.NANOSECONDS.sleep(check.interval().toNanos());
            return true;
        } catch (InterruptedException e) {
            ready.completeExceptionally(e);
            return false;
        }
    }

    private boolean attempt() {
        try (Socket socket = new Socket()) {
            socket.connect(address, ATTEMPT_TIMEOUT_MILLIS);
            return check.probe() == Probe.TCP || isHealthy(socket);
        } catch (IOException e) {
            lastAnswer = String.valueOf(e.getMessage());
            return false;
        }
    }

    private boolean isHealthy(Socket socket) throws IOException {
        socket.setSoTimeout(ATTEMPT_TIMEOUT_MILLIS);
        String request = "GET " + check.path() + " HTTP/1.1\r\nhost: " + address.getHostString() + ":"
                + address.getPort() + "\r\nuser-agent: lambda-dispatcher\r\nconnection: close\r\n\r\n";
        socket.getOutputStream().write(request.getBytes(StandardCharsets.US_ASCII));
        InputStream in = socket.getInputStream();
        String line = new String(in.readNBytes(STATUS_LINE_BYTES), StandardCharsets.ISO_8859_1);
        lastAnswer = "it answers " + HeaderSyntax.printable(line) + ", expected status " + check.healthy();
        boolean answered = line.matches("HTTP/1\\.[01] [0-9]{3}");
        boolean healthy = answered && check.healthy().contains(Integer.parseInt(line.substring(9)));
        if (healthy) {
            readRest(socket, in);
        }
        return healthy;
    }

    /**
     * Reads the rest of the response, so that the application does not see a broken connection. The
     * time is short, because some applications keep the connection open although the request asks
     * for its close.
     */
    private static void readRest(Socket socket, InputStream in) {
        try {
            socket.setSoTimeout(REST_TIMEOUT_MILLIS);
            in.skip(MOST_REST_BYTES);
        } catch (IOException e) {
            log.debug("the app keeps the connection of its readiness check", e);
        }
    }
}
