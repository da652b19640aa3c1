package io.lambdadispatcher.it;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.core.observe.DispatcherObserver;
import io.lambdadispatcher.core.options.FunctionOptions;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Tests uploads that wait for a worker on the same HTTP/2 connection as uploads that do not. */
@Timeout(120)
class QueuedUploadIT {
    private static final int UPLOADS = 24;

    /**
     * If queued uploads took the window of the connection, those with a worker would never end.
     */
    @Test
    void should_not_let_queued_uploads_stop_those_that_a_worker_has() throws Exception {
        byte[] body = new byte[1 << 20];
        // Java's client before version 21 never ends an upload that is refused (JDK-8293786). One
        // client fills at most half of the queue.
        FunctionOptions patient =
                Rig.function().queue(10 * UPLOADS, Duration.ofMinutes(1)).build();
        try (Rig rig = Rig.start(patient, DispatcherObserver.NONE)) {
            rig.worker(1, 2);
            HttpClient client = rig.client(HttpClient.Version.HTTP_2);
            client.send(HttpRequest.newBuilder(rig.https("/ping")).build(), BodyHandlers.ofString());
            List<CompletableFuture<HttpResponse<byte[]>>> uploads = new ArrayList<>();
            for (int i = 0; i < UPLOADS; i++) {
                uploads.add(client.sendAsync(
                        HttpRequest.newBuilder(rig.https("/echo"))
                                .POST(BodyPublishers.ofByteArray(body))
                                .build(),
                        BodyHandlers.ofByteArray()));
            }
            for (CompletableFuture<HttpResponse<byte[]>> upload : uploads) {
                HttpResponse<byte[]> response = upload.get(60, TimeUnit.SECONDS);
                assertThat(response.statusCode()).isEqualTo(200);
                assertThat(response.body()).hasSize(body.length);
            }
        }
    }
}
