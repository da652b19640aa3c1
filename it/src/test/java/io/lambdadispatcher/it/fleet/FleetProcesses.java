package io.lambdadispatcher.it.fleet;

import io.lambdadispatcher.aws.DynamoDbLedger;
import io.lambdadispatcher.aws.LocalDynamoDb;
import io.lambdadispatcher.it.ChildJvm;
import io.lambdadispatcher.wire.event.Json;
import io.lambdadispatcher.wire.testkit.Await;
import io.lambdadispatcher.wire.testkit.FreePort;
import java.io.File;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * Dispatchers in processes of their own, with local workers, behind HAProxy, and DynamoDB Local as
 * their ledger. A constant load of GET and POST requests runs, and what is lost is counted.
 */
final class FleetProcesses implements AutoCloseable {
    private static final String SECRET = "a secret of the fleet's tests";
    static final Duration PATIENCE = Duration.ofSeconds(150);

    /** A dispatcher, and its way to the ledger. */
    final class Member {
        final int publicPort = FreePort.next();
        final int adminPort = FreePort.next();
        final @Nullable Cable ledger;
        private final int workersPort = FreePort.next();
        private final int number = members.size();
        private @Nullable Process process;

        private Member() throws IOException {
            ledger = dynamo == null ? null : new Cable(dynamo.port());
            members.add(this);
        }

        void start() throws IOException {
            List<String> command = ChildJvm.command(ChildJvm.SERVER, "-Xmx256m");
            command.add("serve");
            ProcessBuilder builder = new ProcessBuilder(command)
                    .redirectErrorStream(true)
                    .redirectOutput(
                            directory.resolve("dispatcher-" + number + ".log").toFile());
            Map<String, String> settings = new HashMap<>();
            settings.put("PUBLIC_PLAIN_PORT", Integer.toString(publicPort));
            settings.put("ADMIN_PORT", Integer.toString(adminPort));
            settings.put("WORKERS_PORT", "127.0.0.1:" + workersPort);
            settings.put("WORKERS_SECRET", SECRET);
            settings.put("FUNCTION_LAUNCHER", "local");
            settings.put("FUNCTION_HANDLER", "io.lambdadispatcher.server.demo.DemoHandler");
            settings.put("FUNCTION_WORKER_CONCURRENCY", "4");
            settings.put("FUNCTION_MAX_WORKERS", Integer.toString(maxWorkers));
            settings.put("FUNCTION_LAUNCH_TIMEOUT", "60s");
            settings.put("LOCAL_JVM_FLAGS", "-Xmx64m -XX:TieredStopAtLevel=1 -XX:+UseSerialGC");
            settings.put("EVENT_LOOPS", "1");
            settings.put("SHUTDOWN_DELAY", "0");
            if (ledger != null) {
                settings.put("FLEET_TABLE", "fleet");
                settings.put("FLEET_ENDPOINT", "http://127.0.0.1:" + ledger.port());
                settings.put("AWS_REGION", "eu-central-1");
                builder.environment().put("AWS_ACCESS_KEY_ID", "test");
                builder.environment().put("AWS_SECRET_ACCESS_KEY", "test");
            }
            settings.forEach((name, value) -> builder.environment().put("LAMBDA_DISPATCHER_" + name, value));
            process = builder.start();
        }

        boolean isAlive() {
            return process != null && process.isAlive();
        }

        void awaitReady() {
            Await.until("dispatcher is ready", PATIENCE, () -> get(adminPort, "/ready").status == 200);
        }

        @SuppressWarnings("unchecked")
        List<Map<String, ?>> document(String name) {
            Answer answer = get(adminPort, "/api/" + name);
            Object value = answer.status == 200 ? Json.read(answer.body) : List.of();
            return value instanceof List<?> list ? (List<Map<String, ?>>) list : List.of();
        }

        /** Returns how many workers the fleet has that are not being replaced. */
        int lastingWorkers() {
            Answer answer = get(adminPort, "/api/fleet");
            Object functions =
                    answer.status == 200 ? Json.readObject(answer.body).get("functions") : null;
            return functions instanceof List<?> list && list.get(0) instanceof Map<?, ?> function
                    ? ((Number) function.get("workers")).intValue()
                    : 0;
        }

        long readyWorkers() {
            return document("workers").stream()
                    .filter(worker -> "ready".equals(worker.get("state")))
                    .count();
        }

        void kill() {
            running().destroyForcibly();
        }

        private Process running() {
            return Objects.requireNonNull(process, "not started");
        }

        void signal(String name) throws Exception {
            new ProcessBuilder("kill", "-" + name, Long.toString(running().pid()))
                    .start()
                    .waitFor();
        }

        /** Ends it as an orchestrator does: it is no longer ready, drains, and exits. */
        void stop() throws Exception {
            running().destroy();
            running().waitFor(60, TimeUnit.SECONDS);
        }
    }

    final List<Member> members = new ArrayList<>();
    final Map<String, AtomicInteger> answered = new ConcurrentHashMap<>();
    final Map<String, AtomicInteger> lost = new ConcurrentHashMap<>();
    final List<String> losses = Collections.synchronizedList(new ArrayList<>());
    private final Path directory;
    private final int maxWorkers;
    private final @Nullable LocalDynamoDb dynamo;
    private final HttpClient client =
            HttpClient.newBuilder().connectTimeout(Duration.ofSeconds(5)).build();
    private final Set<String> workersSeen = ConcurrentHashMap.newKeySet();
    private final AtomicInteger mostWorkers = new AtomicInteger();
    private final AtomicInteger mostLasting = new AtomicInteger();
    private final AtomicInteger underWay = new AtomicInteger();
    private final ScheduledExecutorService timer = Executors.newScheduledThreadPool(2);
    private final Map<String, Long> ledgerRequests = new HashMap<>();
    private long countedSinceNanos;
    private @Nullable Process proxy;
    private int proxyPort;

    /**
     * @param fleet whether the dispatchers form a fleet. If not, each has the maximum of workers
     */
    FleetProcesses(int dispatchers, int maxWorkers, boolean fleet) throws Exception {
        this.maxWorkers = maxWorkers;
        directory = Files.createTempDirectory("lambda-dispatcher-fleet");
        dynamo = fleet ? LocalDynamoDb.start() : null;
        if (dynamo != null) {
            System.setProperty("aws.accessKeyId", "test");
            System.setProperty("aws.secretAccessKey", "test");
            DynamoDbLedger.builder()
                    .table("fleet")
                    .fleet("default")
                    .region("eu-central-1")
                    .endpoint(URI.create("http://127.0.0.1:" + dynamo.port()))
                    .createTable();
        }
        for (int i = 0; i < dispatchers; i++) {
            prepare().start();
        }
        members.forEach(Member::awaitReady);
    }

    /** Returns a dispatcher that is not started yet, but that HAProxy knows if it starts later. */
    Member prepare() throws IOException {
        return new Member();
    }

    /** Starts HAProxy in front of all dispatchers that were started, in place of an earlier one. */
    void balance() throws Exception {
        proxyPort = FreePort.next();
        StringBuilder config = new StringBuilder("""
                global
                    maxconn 2000
                    stats socket %s level admin
                defaults
                    mode http
                    timeout connect 1s
                    timeout client 60s
                    timeout server 60s
                    retries 3
                    option redispatch 1
                    retry-on conn-failure empty-response
                    http-reuse always
                frontend all
                    bind 127.0.0.1:%d
                    http-request disable-l7-retry if METH_POST
                    default_backend dispatchers
                backend dispatchers
                    balance roundrobin
                    option httpchk GET /ready
                """.formatted(directory.resolve("haproxy.sock"), proxyPort));
        for (Member member : members) {
            config.append("    server d%d 127.0.0.1:%d check port %d inter 500ms fall 2 rise 1%n"
                    .formatted(members.indexOf(member), member.publicPort, member.adminPort));
        }
        Path file = directory.resolve("haproxy.cfg");
        Files.writeString(file, config);
        Process next = new ProcessBuilder("/usr/sbin/haproxy", "-f", file.toString())
                .redirectErrorStream(true)
                .redirectOutput(directory.resolve("haproxy.log").toFile())
                .start();
        if (proxy != null) {
            proxy.destroy();
        }
        proxy = next;
        Await.until("HAProxy answers", PATIENCE, () -> get(proxyPort, "/ping").status == 200);
    }

    /** @param status 0 = no answer */
    private record Answer(int status, byte[] body) {}

    private Answer get(int port, String path) {
        try {
            HttpResponse<byte[]> answer = client.send(
                    HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + port + path))
                            .timeout(Duration.ofSeconds(5))
                            .build(),
                    BodyHandlers.ofByteArray());
            return new Answer(answer.statusCode(), answer.body());
        } catch (IOException e) {
            return new Answer(0, new byte[0]);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    /**
     * Sends this many requests of 100 ms each second, half of them POSTs, until the rig is closed.
     */
    void load(int perSecond) {
        AtomicInteger number = new AtomicInteger();
        timer.scheduleAtFixedRate(
                () -> send(number.getAndIncrement()), 0, 1_000_000_000 / perSecond, TimeUnit.NANOSECONDS);
        timer.scheduleWithFixedDelay(this::count, 0, 300, TimeUnit.MILLISECONDS);
    }

    private void send(int number) {
        String method = number % 2 == 0 ? "GET" : "POST";
        HttpRequest request = HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + proxyPort + "/delay?delay=100"))
                .method(method, number % 2 == 0 ? BodyPublishers.noBody() : BodyPublishers.ofString("order " + number))
                .timeout(Duration.ofSeconds(30))
                .build();
        underWay.incrementAndGet();
        client.sendAsync(request, BodyHandlers.ofString()).whenComplete((answer, error) -> {
            underWay.decrementAndGet();
            if (error == null && answer.statusCode() == 200) {
                answered.computeIfAbsent(method, m -> new AtomicInteger()).incrementAndGet();
            } else {
                lost.computeIfAbsent(method, m -> new AtomicInteger()).incrementAndGet();
                losses.add(method + ": " + (error == null ? answer.statusCode() + " " + answer.body() : error));
            }
        });
    }

    private void count() {
        Set<String> now = new TreeSet<>();
        for (Member member : List.copyOf(members)) {
            if (member.isAlive()) {
                member.document("workers").forEach(worker -> now.add(String.valueOf(worker.get("id"))));
                mostLasting.accumulateAndGet(member.lastingWorkers(), Math::max);
            }
        }
        workersSeen.addAll(now);
        mostWorkers.accumulateAndGet(now.size(), Math::max);
    }

    /** Forgets what was answered and lost until now. */
    void startCounting() {
        answered.clear();
        lost.clear();
        losses.clear();
        countedSinceNanos = System.nanoTime();
        for (String action : List.of("Query", "PutItem")) {
            ledgerRequests.put(action, dynamo == null ? 0 : dynamo.requests(action));
        }
    }

    /** Returns the requests of all dispatchers to the ledger for each second. */
    double ledgerRate(String action) {
        long sent = dynamo == null ? 0 : dynamo.requests(action) - ledgerRequests.getOrDefault(action, 0L);
        return sent * 1e9 / (System.nanoTime() - countedSinceNanos);
    }

    int launches() {
        return workersSeen.size();
    }

    /**
     * Returns the most workers at a time that were not being replaced, as the fleet counts them.
     */
    int mostLasting() {
        return mostLasting.get();
    }

    int mostWorkers() {
        return mostWorkers.get();
    }

    /** Returns how many requests have no answer yet. */
    int inFlight() {
        return underWay.get();
    }

    int lost() {
        return lost.values().stream().mapToInt(AtomicInteger::get).sum();
    }

    Map<String, Integer> lostByMethod() {
        Map<String, Integer> all = new TreeMap<>();
        lost.forEach((method, count) -> all.put(method, count.get()));
        return all;
    }

    int answered() {
        return answered.values().stream().mapToInt(AtomicInteger::get).sum();
    }

    static void pass(int seconds) throws InterruptedException {
        Thread.sleep(seconds * 1000L); // Drills watch processes for whole seconds.
    }

    @Override
    public void close() throws Exception {
        timer.shutdownNow();
        for (Member member : members) {
            if (member.isAlive()) {
                member.signal("CONT");
                member.running().destroy();
            }
        }
        for (Member member : members) {
            if (member.isAlive() && !member.running().waitFor(30, TimeUnit.SECONDS)) {
                member.running().destroyForcibly();
            }
            if (member.ledger != null) {
                member.ledger.close();
            }
        }
        if (proxy != null) {
            proxy.destroy();
        }
        if (dynamo != null) {
            dynamo.close();
        }
        File[] files = directory.toFile().listFiles();
        for (File file : files == null ? new File[0] : files) {
            Files.delete(file.toPath());
        }
        Files.delete(directory);
    }
}
