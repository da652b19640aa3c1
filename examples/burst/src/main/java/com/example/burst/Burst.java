package com.example.burst;

import java.io.File;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;

/**
 * Starts two base workers, then sends requests: a few, many for a minute, a few again, and so on.
 * Prints every five seconds who has answered them.
 */
public final class Burst {
    private static final int BASE_WORKERS = 2;
    private static final int CALM_PER_SECOND = 40;
    private static final int BURST_PER_SECOND = 200;
    private static final int CALM_SECONDS = 30;
    private static final int BURST_SECONDS = 60;
    private static final int REPORT_SECONDS = 5;

    private final HttpClient client = HttpClient.newHttpClient();
    private final HttpRequest request;
    private final AtomicInteger base = new AtomicInteger();
    private final AtomicInteger launched = new AtomicInteger();
    private final AtomicInteger failed = new AtomicInteger();

    private Burst(URI dispatcher) {
        request = HttpRequest.newBuilder(dispatcher).build();
    }

    /** @param arguments the URL for clients and the port for workers */
    public static void main(String[] arguments) throws IOException {
        for (int i = 0; i < BASE_WORKERS; i++) {
            startBaseWorker(arguments[1]);
        }
        Burst burst = new Burst(URI.create(arguments[0]));
        Thread load = new Thread(burst::load, "load");
        load.setDaemon(true);
        load.start();
        // The input ends with the dispatcher. The base workers exit with this process.
        while (System.in.read() >= 0) {}
    }

    private static void startBaseWorker(String port) throws IOException {
        Path java = Path.of(System.getProperty("java.home"), "bin", "java");
        ProcessBuilder builder = new ProcessBuilder(
                java.toString(), "-cp", System.getProperty("java.class.path"), "io.lambdadispatcher.worker.WorkerMain");
        builder.environment().put("LAMBDA_DISPATCHER_ADDRESSES", "127.0.0.1:" + port);
        builder.environment().put("LAMBDA_DISPATCHER_FUNCTION", "burst");
        builder.environment().put("LAMBDA_DISPATCHER_SECRET", "known-to-everyone-who-reads-this-example");
        builder.environment().put("LAMBDA_DISPATCHER_HANDLER", SlowHandler.class.getName());
        builder.environment().put("LAMBDA_DISPATCHER_STREAMS", "10");
        builder.environment().put("LAMBDA_DISPATCHER_EXIT_WITH_PARENT", "true");
        builder.environment().put(SlowHandler.KIND_VARIABLE, "base");
        builder.redirectErrorStream(true)
                .redirectOutput(new File("target/base-worker.log"))
                .start();
    }

    private void load() {
        System.out.printf("%n%12s %8s %8s %8s%n", "requests/s", "base", "launched", "failed");
        while (true) {
            send(CALM_PER_SECOND, CALM_SECONDS);
            send(BURST_PER_SECOND, BURST_SECONDS);
            send(CALM_PER_SECOND, CALM_SECONDS);
        }
    }

    private void send(int perSecond, int seconds) {
        long begin = System.nanoTime();
        int perReport = perSecond * REPORT_SECONDS;
        for (int sent = 1; sent <= perSecond * seconds; sent++) {
            client.sendAsync(request, BodyHandlers.ofString()).whenComplete(this::count);
            LockSupport.parkNanos(begin + TimeUnit.SECONDS.toNanos(sent) / perSecond - System.nanoTime());
            if (sent % perReport == 0) {
                System.out.printf(
                        "%12d %8d %8d %8d%n", perSecond, base.getAndSet(0), launched.getAndSet(0), failed.getAndSet(0));
            }
        }
    }

    private void count(HttpResponse<String> response, Throwable failure) {
        String answer = failure == null && response.statusCode() == 200
                ? response.body().strip()
                : "";
        (answer.equals("base") ? base : answer.equals("launched") ? launched : failed).incrementAndGet();
    }
}
