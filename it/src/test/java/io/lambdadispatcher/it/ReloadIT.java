package io.lambdadispatcher.it;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.wire.testkit.Await;
import io.lambdadispatcher.wire.testkit.FreePort;
import io.netty.handler.ssl.util.InsecureTrustManagerFactory;
import io.netty.pkitesting.CertificateBuilder;
import io.netty.pkitesting.X509Bundle;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.security.cert.Certificate;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLSocket;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.slf4j.LoggerFactory;

/**
 * The command {@code serve} reloads under load, and no request is lost. Two functions with one
 * worker each share the requests. They differ in the process id in the answer to {@code /debug}.
 */
@StartsPrograms
class ReloadIT {
    private static final String TOKEN = "0123456789abcdef";
    private static final Pattern PID = Pattern.compile("\"pid\":(\\d+)");

    @TempDir
    static Path directory;

    private static final int PLAIN = FreePort.next();
    private static final int SECURE = FreePort.next();
    private static final int ADMIN = FreePort.next();
    private static final HttpClient http = HttpClient.newHttpClient();
    private static Process process;
    private static X509Bundle certificate;

    private final List<Load> loads = new ArrayList<>();

    /** A JVM whose parent ignores SIGHUP, as nohup makes it do, ignores it, too. */
    private static ProcessBuilder heedingHangUp(ProcessBuilder builder) throws IOException {
        Path status = Path.of("/proc/self/status");
        boolean ignored = Files.exists(status)
                && Files.readAllLines(status).stream()
                        .filter(line -> line.startsWith("SigIgn:"))
                        .anyMatch(line ->
                                (Long.parseUnsignedLong(line.substring(7).strip(), 16) & 1) == 1);
        if (ignored) {
            builder.command().addAll(0, List.of("env", "--default-signal=HUP"));
        }
        return builder;
    }

    @BeforeAll
    static void start() throws Exception {
        certificate = replaceCertificate();
        write(10_000, 1, "");
        process = heedingHangUp(
                        ServedProgram.command("serve", "--config", settings().toString()))
                .redirectErrorStream(true)
                .redirectOutput(log().toFile())
                .start();
        Await.until("ready", Duration.ofSeconds(150), () -> statusOf("/ready") == 200);
    }

    @AfterAll
    static void stop() throws Exception {
        process.destroy();
        assertThat(process.waitFor(60, TimeUnit.SECONDS)).isTrue();
        assertThat(process.exitValue()).isZero();
    }

    private static int statusOf(String adminPath) throws InterruptedException {
        try {
            return http.send(get("http", ADMIN, adminPath), BodyHandlers.discarding())
                    .statusCode();
        } catch (IOException e) {
            return 0;
        }
    }

    private static Path settings() {
        return directory.resolve("dispatcher.yaml");
    }

    private static Path log() {
        return directory.resolve("dispatcher.log");
    }

    /** Replaces the files one after the other, as tools do that renew certificates. */
    private static X509Bundle replaceCertificate() throws Exception {
        X509Bundle bundle = new CertificateBuilder()
                .subject("CN=localhost")
                .ecp256()
                .addSanDnsName("localhost")
                .setIsCertificateAuthority(true)
                .buildSelfSigned();
        replace(directory.resolve("server.pem"), bundle.getCertificatePathPEM());
        replace(directory.resolve("server.key"), bundle.getPrivateKeyPEM());
        return bundle;
    }

    private static void replace(Path file, String text) throws IOException {
        Path next = Files.writeString(directory.resolve("next"), text);
        Files.move(next, file, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
    }

    private static void write(int blue, int green, String more) throws IOException {
        String function =
                "- {name: %s, path: /, weight: %d, launcher: local, min-workers: 1, max-workers: 1, worker-concurrency: 50,"
                        + " handler: io.lambdadispatcher.server.demo.DemoHandler}";
        replace(
                settings(),
                String.join(
                        "\n",
                        "public: {plain: {port: '127.0.0.1:" + PLAIN + "'}, tls: {port: '127.0.0.1:" + SECURE + "',",
                        "  certificate: " + directory.resolve("server.pem") + ", key: "
                                + directory.resolve("server.key") + "}}",
                        "workers: {port: '127.0.0.1:0', keepalive: 2s timeout 30s}",
                        "shutdown.delay: 0",
                        "admin: {port: " + ADMIN + ", token: " + TOKEN + "}",
                        more,
                        "functions:",
                        String.format(function, "blue", blue),
                        String.format(function, "green", green)));
    }

    private static void hangUp() throws Exception {
        Process kill = new ProcessBuilder("kill", "-HUP", Long.toString(process.pid())).start();
        assertThat(kill.waitFor()).isZero();
    }

    /** Reloads with SIGHUP, and waits until the log has these texts. */
    private static void reload(String... changes) throws Exception {
        int length = Files.readString(log()).length();
        hangUp();
        awaitLog(length, "SIGHUP: reloaded");
        for (String change : changes) {
            awaitLog(length, change);
        }
    }

    private static String awaitLog(int from, String text) {
        Await.until(text, () -> Files.readString(log()).indexOf(text, from) >= 0);
        return logFrom(from);
    }

    private static String logFrom(int from) {
        try {
            return Files.readString(log()).substring(from);
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
    }

    private static HttpRequest get(String scheme, int port, String path) {
        return HttpRequest.newBuilder(URI.create(scheme + "://localhost:" + port + path))
                .timeout(Duration.ofSeconds(60))
                .build();
    }

    private static SSLContext trustAll() {
        try {
            SSLContext context = SSLContext.getInstance("TLS");
            context.init(null, InsecureTrustManagerFactory.INSTANCE.getTrustManagers(), null);
            return context;
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }

    /** One client that sends a request after the other until it is stopped. */
    private static final class Load {
        final AtomicInteger served = new AtomicInteger();
        final ConcurrentLinkedQueue<String> lost = new ConcurrentLinkedQueue<>();
        private final AtomicBoolean stopped = new AtomicBoolean();
        private final Thread thread;
        private final String name;

        Load(String name, Callable<String> exchange) {
            this.name = name;
            thread = new Thread(() -> run(exchange), name);
            thread.start();
        }

        private void run(Callable<String> exchange) {
            while (!stopped.get()) {
                try {
                    String outcome = exchange.call();
                    if (outcome.equals("200")) {
                        served.incrementAndGet();
                    } else {
                        lost.add(outcome);
                    }
                } catch (Exception e) {
                    lost.add(e.toString());
                }
            }
        }

        void stop() throws InterruptedException {
            stopped.set(true);
            thread.join(60_000);
            LoggerFactory.getLogger(ReloadIT.class).info("{}: {} served, {} lost", name, served, lost.size());
        }
    }

    private static String exchange(HttpClient client, HttpRequest request, HttpClient.Version version)
            throws Exception {
        HttpResponse<String> response = client.send(request, BodyHandlers.ofString());
        return response.version() == version ? Integer.toString(response.statusCode()) : "over " + response.version();
    }

    @BeforeEach
    void load() {
        HttpClient h1 =
                HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
        HttpClient h2 = HttpClient.newBuilder()
                .version(HttpClient.Version.HTTP_2)
                .sslContext(trustAll())
                .build();
        for (int i = 0; i < 2; i++) {
            loads.add(new Load(
                    "HTTP/1.1", () -> exchange(h1, get("http", PLAIN, "/debug"), HttpClient.Version.HTTP_1_1)));
            loads.add(new Load(
                    "h2 over TLS", () -> exchange(h2, get("https", SECURE, "/ping"), HttpClient.Version.HTTP_2)));
        }
        loads.add(new Load("TLS, one connection each", () -> {
            try (SSLSocket socket = handshake()) {
                return exchange(socket);
            }
        }));
    }

    @AfterEach
    void countLosses() throws Exception {
        for (Load load : loads) {
            load.stop();
        }
        assertThat(loads).allSatisfy(load -> {
            assertThat(load.lost).as("lost requests over %s", load.name).isEmpty();
            assertThat(load.served.get()).as("served over %s", load.name).isGreaterThan(20);
        });
    }

    private static SSLSocket handshake() throws IOException {
        SSLSocket socket = (SSLSocket) trustAll().getSocketFactory().createSocket("127.0.0.1", SECURE);
        socket.setSoTimeout(60_000);
        socket.startHandshake();
        return socket;
    }

    private static String exchange(SSLSocket socket) throws IOException {
        socket.getOutputStream()
                .write("GET /ping HTTP/1.1\r\nhost: localhost\r\n\r\n".getBytes(StandardCharsets.US_ASCII));
        StringBuilder answer = new StringBuilder();
        while (answer.indexOf("\r\n\r\npong") < 0) {
            int read = socket.getInputStream().read();
            if (read < 0) {
                return "closed after: " + answer;
            }
            answer.append((char) read);
        }
        return answer.substring("HTTP/1.1 ".length(), "HTTP/1.1 200".length());
    }

    private static Certificate certificateOf(SSLSocket socket) throws IOException {
        return socket.getSession().getPeerCertificates()[0];
    }

    /** Returns the process that serves at least 18 of 20 requests. */
    private static String mostlyServedBy() throws Exception {
        List<String> pids = new ArrayList<>();
        for (int i = 0; i < 20; i++) {
            Matcher pid = PID.matcher(http.send(get("http", PLAIN, "/debug"), BodyHandlers.ofString())
                    .body());
            assertThat(pid.find()).isTrue();
            pids.add(pid.group(1));
        }
        String most = pids.stream()
                .filter(pid -> pids.stream().filter(pid::equals).count() >= 18)
                .findAny()
                .orElse("none");
        assertThat(most).as("%s", pids).isNotEqualTo("none");
        return most;
    }

    @Test
    void should_move_the_requests_to_another_function_without_losing_one() throws Exception {
        write(10_000, 1, "");
        reload();
        String blue = mostlyServedBy();
        String green = null;
        for (int i = 0; i < 10; i++) {
            write(1, 10_000, "");
            reload("function blue, weight: 10000 -> 1", "function green, weight: 1 -> 10000");
            green = mostlyServedBy();
            assertThat(green).isNotEqualTo(blue);
            write(10_000, 1, "");
            reload();
            assertThat(mostlyServedBy()).isEqualTo(blue);
        }
        HttpResponse<String> config = http.send(get("http", ADMIN, "/api/config"), BodyHandlers.ofString());
        assertThat(config.body()).contains("\"name\":\"function blue, weight\",\"value\":\"10000\"");
    }

    private static String command(String target) throws Exception {
        return http.send(
                        HttpRequest.newBuilder(URI.create("http://localhost:" + ADMIN + target))
                                .header("authorization", "Bearer " + TOKEN)
                                .POST(BodyPublishers.noBody())
                                .build(),
                        BodyHandlers.ofString())
                .body();
    }

    @Test
    void should_move_all_requests_by_command_and_keep_that_in_a_reload() throws Exception {
        write(10_000, 1, "");
        reload();
        String blue = mostlyServedBy();
        for (int i = 0; i < 10; i++) {
            assertThat(command("/api/weights?blue=0&green=1")).isEqualTo("{\"weights\":{\"blue\":0,\"green\":1}}");
            String green = mostlyServedBy();
            assertThat(green).isNotEqualTo(blue);
            certificate = replaceCertificate();
            reload("function blue, weight: 0, set by a command");
            assertThat(mostlyServedBy()).isEqualTo(green);
            assertThat(command("/api/weights?blue=10000")).isEqualTo("{\"weights\":{\"blue\":10000,\"green\":1}}");
            assertThat(mostlyServedBy()).isEqualTo(blue);
        }
        assertThat(command("/api/weights?blue=0&green=0"))
                .isEqualTo(
                        "function green, weight: expected 1 or more for one of the functions with the same host, header and"
                                + " path, got \"0\" (command)\n");
        assertThat(mostlyServedBy()).isEqualTo(blue);
        write(9_999, 1, "");
        reload("function blue, weight: 10000 -> 9999");
    }

    @Test
    void should_change_the_certificate_without_losing_a_request_or_a_connection() throws Exception {
        reload();
        try (SSLSocket first = handshake()) {
            Certificate before = certificateOf(first);
            for (int i = 0; i < 10; i++) {
                certificate = replaceCertificate();
                reload("server.pem with other contents", "server.key with other contents");
                try (SSLSocket fresh = handshake()) {
                    assertThat(certificateOf(fresh)).isEqualTo(certificate.getCertificate());
                    assertThat(exchange(fresh)).isEqualTo("200");
                }
                assertThat(exchange(first)).isEqualTo("200");
                assertThat(certificateOf(first)).isEqualTo(before).isNotEqualTo(certificate.getCertificate());
            }
        }
        HttpResponse<String> metrics = http.send(get("http", ADMIN, "/metrics"), BodyHandlers.ofString());
        assertThat(metrics.body())
                .containsPattern("lambda_dispatcher_certificate_expiry_timestamp_seconds\\{port=\"public.tls\"} \\d");
    }

    @Test
    void should_notice_changed_files_and_refuse_those_that_are_wrong() throws Exception {
        write(10_000, 1, "");
        reload();
        int from = Files.readString(log()).length();

        replace(
                directory.resolve("server.key"),
                new CertificateBuilder()
                        .subject("CN=localhost")
                        .ecp256()
                        .setIsCertificateAuthority(true)
                        .buildSelfSigned()
                        .getPrivateKeyPEM());
        write(1, 10_000, "");
        assertThat(awaitLog(from, "the reload was refused"))
                .contains("nothing has changed")
                .doesNotContain("reloaded");
        assertThat(awaitLog(from, "got another key")).contains("expected the key of the first certificate in");
        try (SSLSocket fresh = handshake()) {
            assertThat(certificateOf(fresh)).isEqualTo(certificate.getCertificate());
        }
        String blue = mostlyServedBy();

        certificate = replaceCertificate();
        write(1, 10_000, "http.client-memory: 64MiB");
        assertThat(awaitLog(from, "reloaded. In force now:")).contains("changed: reloaded");
        assertThat(awaitLog(from, "needs a restart: http.client-memory: auto -> 64MiB"))
                .contains("function green, weight: 1 -> 10000");
        assertThat(mostlyServedBy()).isNotEqualTo(blue);
        try (SSLSocket fresh = handshake()) {
            assertThat(certificateOf(fresh)).isEqualTo(certificate.getCertificate());
        }
        // The live page shows the same.
        assertThat(http.send(get("http", ADMIN, "/api/changes"), BodyHandlers.ofString())
                        .body())
                .contains(
                        "refused, nothing has changed: ",
                        "function green, weight: 1 -> 10000",
                        "needs a restart: http.client-memory: auto -> 64MiB");
    }
}
