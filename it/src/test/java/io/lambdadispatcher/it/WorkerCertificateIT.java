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
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.security.cert.Certificate;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLSocket;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.slf4j.LoggerFactory;

/**
 * The certificate of the worker port is replaced under load over HTTP/1.1 and HTTP/2. Connected
 * workers keep their connections, and new ones trust only the new certificate.
 */
@StartsPrograms
@Timeout(300)
class WorkerCertificateIT {
    private static final String TOKEN = "0123456789abcdef";
    private static final int WORKER_PORT = FreePort.next();
    private static final int ROTATIONS = 2;

    @TempDir
    Path directory;

    private Path chain() {
        return directory.resolve("worker.pem");
    }

    private Path key() {
        return directory.resolve("worker.key");
    }

    /** Replaces the files one after the other, as tools do that renew certificates. */
    private X509Bundle replaceCertificate() throws Exception {
        X509Bundle bundle = new CertificateBuilder()
                .subject("CN=localhost")
                .ecp256()
                .addSanDnsName("localhost")
                .addSanIpAddress("127.0.0.1")
                .setIsCertificateAuthority(true)
                .buildSelfSigned();
        replace(chain(), bundle.getCertificatePathPEM());
        replace(key(), bundle.getPrivateKeyPEM());
        return bundle;
    }

    private void replace(Path file, String text) throws IOException {
        Path next = Files.writeString(directory.resolve("next"), text);
        Files.move(next, file, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
    }

    private static Certificate certificateOfPort() throws Exception {
        SSLContext context = SSLContext.getInstance("TLS");
        context.init(null, InsecureTrustManagerFactory.INSTANCE.getTrustManagers(), null);
        try (SSLSocket socket = (SSLSocket) context.getSocketFactory().createSocket("127.0.0.1", WORKER_PORT)) {
            socket.setSoTimeout(10_000);
            socket.startHandshake();
            return socket.getSession().getPeerCertificates()[0];
        }
    }

    private static Set<Object> ready(ServedProgram program) {
        return program.document("workers")
                .filter(worker -> "ready".equals(worker.get("state")))
                .map(worker -> worker.get("id"))
                .collect(Collectors.toSet());
    }

    private static void recycle(ServedProgram program) throws Exception {
        HttpRequest request = HttpRequest.newBuilder(
                        URI.create(program.adminUrl() + "/api/workers/recycle?function=shop"))
                .header("authorization", "Bearer " + TOKEN)
                .POST(BodyPublishers.noBody())
                .build();
        HttpResponse<String> answer = HttpClient.newHttpClient().send(request, BodyHandlers.ofString());
        assertThat(answer.statusCode()).as(answer.body()).isEqualTo(200);
    }

    @Test
    void should_lose_no_request_when_the_certificate_of_the_worker_port_is_replaced() throws Exception {
        replaceCertificate();
        Map<String, String> settings = Map.of(
                "WORKERS_TLS_CERTIFICATE", chain().toString(),
                "WORKERS_TLS_KEY", key().toString(),
                "WORKERS_PORT", Integer.toString(WORKER_PORT),
                "FUNCTION_WORKER_CONCURRENCY", "20",
                "ADMIN_TOKEN", TOKEN);
        try (ServedProgram program = ServedProgram.start(settings);
                LoadClients http1 = LoadClients.http1(program.publicPort, 2);
                LoadClients http2 = LoadClients.http2(program.publicPort, 1)) {
            for (int i = 0; i < ROTATIONS; i++) {
                Set<Object> before = ready(program);
                Certificate renewed = replaceCertificate().getCertificate();
                Await.until(
                        "the port shows the new certificate",
                        () -> certificateOfPort().equals(renewed));
                assertThat(ready(program)).as("workers keep their connections").isEqualTo(before);

                recycle(program);
                Await.until("workers that have seen only the new certificate", Duration.ofSeconds(150), () -> {
                    Set<Object> now = new HashSet<>(ready(program));
                    return now.size() == 2 && !now.removeAll(before);
                });
            }
            List<LoadClients> loads = List.of(http1, http2);
            for (LoadClients load : loads) {
                load.close();
                assertThat(load.lost()).isEmpty();
                assertThat(load.served()).isGreaterThan(200);
            }
            LoggerFactory.getLogger(WorkerCertificateIT.class)
                    .info(
                            "{} requests served over HTTP/1.1 and {} over HTTP/2 during {} renewals, 0 lost",
                            http1.served(),
                            http2.served(),
                            ROTATIONS);
        }
    }
}
