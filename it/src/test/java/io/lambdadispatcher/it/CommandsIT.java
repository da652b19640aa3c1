package io.lambdadispatcher.it;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.wire.testkit.Await;
import io.lambdadispatcher.wire.testkit.FreePort;
import io.netty.handler.ssl.util.InsecureTrustManagerFactory;
import io.netty.pkitesting.CertificateBuilder;
import io.netty.pkitesting.X509Bundle;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpClient.Version;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Collectors;
import javax.net.ssl.SSLContext;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.slf4j.LoggerFactory;

/**
 * The commands that change a running dispatcher, under load over HTTP/1.1 and over h2 with TLS. No
 * request is lost.
 */
@StartsPrograms
@Timeout(300)
class CommandsIT {
    private static final int CLIENTS = 3;
    private static final String TOKEN = "0123456789abcdef";
    private static final int SECURE = FreePort.next();

    @TempDir
    static Path directory;

    private static ServedProgram program;

    private final AtomicBoolean stopped = new AtomicBoolean();
    private final Queue<String> lost = new ConcurrentLinkedQueue<>();
    private final AtomicInteger served = new AtomicInteger();
    private final List<Thread> clients = new ArrayList<>();

    @BeforeAll
    static void open() throws Exception {
        X509Bundle certificate = new CertificateBuilder()
                .subject("CN=localhost")
                .ecp256()
                .addSanDnsName("localhost")
                .setIsCertificateAuthority(true)
                .buildSelfSigned();
        Path chain = Files.writeString(directory.resolve("server.pem"), certificate.getCertificatePathPEM());
        Path key = Files.writeString(directory.resolve("server.key"), certificate.getPrivateKeyPEM());
        program = ServedProgram.start(Map.of(
                "FUNCTION_WORKER_CONCURRENCY", "20",
                "ADMIN_TOKEN", TOKEN,
                "PUBLIC_TLS_PORT", Integer.toString(SECURE),
                "PUBLIC_TLS_CERTIFICATE", chain.toString(),
                "PUBLIC_TLS_KEY", key.toString()));
    }

    @AfterAll
    static void close() throws Exception {
        program.close();
    }

    /** Each client sends a request after the other, with and without a body. */
    @BeforeEach
    void load() {
        for (Version version : Version.values()) {
            for (int i = 0; i < CLIENTS; i++) {
                Thread client = new Thread(() -> send(version), "client over " + version);
                clients.add(client);
                client.start();
            }
        }
    }

    private static SSLContext trustAll() {
        try {
            SSLContext context = SSLContext.getInstance("TLS");
            context.init(null, InsecureTrustManagerFactory.INSTANCE.getTrustManagers(), null);
            return context;
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException(e);
        }
    }

    private void send(Version version) {
        HttpClient client =
                HttpClient.newBuilder().version(version).sslContext(trustAll()).build();
        URI url = URI.create(
                version == Version.HTTP_2 ? "https://localhost:" + SECURE : "http://localhost:" + program.publicPort);
        byte[] body = new byte[100_000];
        for (int i = 0; !stopped.get(); i++) {
            HttpRequest.Builder request = i % 2 == 0
                    ? HttpRequest.newBuilder(url.resolve("/delay?delay=20"))
                    : HttpRequest.newBuilder(url.resolve("/echo")).POST(BodyPublishers.ofByteArray(body));
            try {
                HttpResponse<byte[]> response =
                        client.send(request.timeout(Duration.ofSeconds(60)).build(), BodyHandlers.ofByteArray());
                boolean complete = i % 2 == 0 || response.body().length == body.length;
                if (response.statusCode() == 200 && complete && response.version() == version) {
                    served.incrementAndGet();
                } else {
                    lost.add(version + ": " + response.statusCode() + " with " + response.body().length + " bytes");
                }
            } catch (Exception e) {
                lost.add(version + ": " + e);
            }
        }
    }

    @AfterEach
    void countLosses() throws Exception {
        stopped.set(true);
        for (Thread client : clients) {
            client.join(60_000);
        }
        LoggerFactory.getLogger(CommandsIT.class).info("{} requests served, {} lost", served, lost.size());
        assertThat(lost).isEmpty();
        assertThat(served.get()).isGreaterThan(100);
    }

    private static List<String> run(String... arguments) throws Exception {
        List<String> all = new ArrayList<>(List.of(arguments));
        all.addAll(List.of("--admin-url", program.adminUrl()));
        ProcessBuilder builder = ServedProgram.command(all.toArray(String[]::new));
        builder.environment().put("LAMBDA_DISPATCHER_ADMIN_TOKEN", TOKEN);
        Process process = builder.redirectErrorStream(true).start();
        String text = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertThat(process.waitFor()).as(text).isZero();
        return text.lines().toList();
    }

    private static Set<String> workers(String state) {
        return program.document("workers")
                .filter(worker -> state.equals(worker.get("state")))
                .map(worker -> (String) worker.get("id"))
                .collect(Collectors.toSet());
    }

    private static void awaitTwoOthersThan(Set<String> gone) {
        Await.until("two workers are ready, none of " + gone, Duration.ofSeconds(150), () -> {
            Set<String> ready = workers("ready");
            return ready.size() == 2 && ready.stream().noneMatch(gone::contains);
        });
    }

    @Test
    void should_drain_a_worker_without_losing_a_request() throws Exception {
        awaitTwoOthersThan(Set.of());
        String id = workers("ready").iterator().next();
        int before = served.get();

        assertThat(run("worker", "drain", id)).containsExactly("worker " + id + " of function shop: drains");

        awaitTwoOthersThan(Set.of(id));
        Await.until(
                "the drained worker has exited",
                () -> program.document("workers").noneMatch(worker -> id.equals(worker.get("id"))));
        assertThat(served.get()).isGreaterThan(before);
    }

    @Test
    void should_replace_one_worker_after_the_other_without_losing_a_request() throws Exception {
        awaitTwoOthersThan(Set.of());
        Set<String> old = workers("ready");

        assertThat(run("worker", "recycle", "--function", "shop"))
                .containsExactlyInAnyOrderElementsOf(old.stream()
                        .map(id -> "worker " + id + " of function shop: is being replaced")
                        .toList());

        Set<Integer> ready = new HashSet<>();
        Await.until("both are replaced", Duration.ofSeconds(150), () -> {
            Set<String> now = workers("ready");
            ready.add(now.size());
            return now.size() == 2 && now.stream().noneMatch(old::contains);
        });
        assertThat(ready).as("numbers of ready workers").doesNotContain(0, 1);
    }
}
