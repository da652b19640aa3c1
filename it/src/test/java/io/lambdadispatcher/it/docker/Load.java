package io.lambdadispatcher.it.docker;

import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.Supplier;

/**
 * Clients that each send one request after the other until they are stopped. They count the outcome
 * of each request.
 */
final class Load implements AutoCloseable {
    private final HttpClient client = HttpClient.newBuilder()
            .version(HttpClient.Version.HTTP_1_1)
            .connectTimeout(Duration.ofSeconds(30))
            .build();
    private final List<Thread> threads = new ArrayList<>();
    private final Map<String, LongAdder> outcomes = new ConcurrentSkipListMap<>();
    private final AtomicLong slowestMillis = new AtomicLong();
    private volatile boolean stopped;

    /** @param target returns the URI of the next request */
    Load(int clients, Supplier<URI> target) {
        for (int i = 0; i < clients; i++) {
            Thread thread = new Thread(() -> run(target), "load-" + i);
            threads.add(thread);
            thread.start();
        }
    }

    private void run(Supplier<URI> target) {
        while (!stopped) {
            long start = System.nanoTime();
            outcomes.computeIfAbsent(once(target.get()), name -> new LongAdder())
                    .increment();
            slowestMillis.accumulateAndGet((System.nanoTime() - start) / 1_000_000, Math::max);
        }
    }

    private String once(URI uri) {
        try {
            HttpResponse<byte[]> response = client.send(
                    HttpRequest.newBuilder(uri).timeout(Duration.ofSeconds(120)).build(), BodyHandlers.ofByteArray());
            return Integer.toString(response.statusCode());
        } catch (IOException e) {
            pause(); // Requests to a stopped server are repeated, but not in a tight loop.
            return e.getClass().getSimpleName();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return "interrupted";
        }
    }

    private static void pause() {
        try {
            Thread.sleep(20); // Without it, clients of a stopped server would use a processor.
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** Returns counts by status or by the exception's name. */
    Map<String, Long> outcomes() {
        Map<String, Long> counts = new ConcurrentSkipListMap<>();
        outcomes.forEach((name, count) -> counts.put(name, count.sum()));
        return counts;
    }

    long count(String outcome) {
        LongAdder count = outcomes.get(outcome);
        return count == null ? 0 : count.sum();
    }

    /** Returns the number of outcomes other than 200. */
    long failures() {
        return outcomes().entrySet().stream()
                .filter(entry -> !entry.getKey().equals("200"))
                .mapToLong(Map.Entry::getValue)
                .sum();
    }

    /** Stops each client after its request in flight. */
    Load stop() {
        stopped = true;
        for (Thread thread : threads) {
            try {
                thread.join();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        }
        return this;
    }

    @Override
    public String toString() {
        return outcomes() + ", slowest " + slowestMillis + " ms";
    }

    @Override
    public void close() {
        stop();
    }
}
