package io.lambdadispatcher.it;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.server.demo.DemoHandler;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** Tests a worker port with TLS that requires client certificates. */
class WorkerTlsIT {

    @Test
    void should_serve_through_a_worker_that_shows_its_certificate() throws Exception {
        try (Rig rig = Rig.startWithMutualTls()) {
            rig.process(
                    1,
                    5,
                    Map.of(
                            "LAMBDA_DISPATCHER_HANDLER",
                            DemoHandler.class.getName(),
                            "LAMBDA_DISPATCHER_ADDRESSES",
                            "localhost:" + rig.dispatcher.workerAddress().getPort(),
                            "LAMBDA_DISPATCHER_TLS_TRUST_PEM",
                            rig.certificateFile().toString(),
                            "LAMBDA_DISPATCHER_TLS_CERTIFICATE",
                            rig.certificateFile().toString(),
                            "LAMBDA_DISPATCHER_TLS_KEY",
                            rig.keyFile().toString()));
            assertThat(rig.client(HttpClient.Version.HTTP_2)
                            .send(HttpRequest.newBuilder(rig.https("/ping")).build(), BodyHandlers.ofString())
                            .body())
                    .isEqualTo("pong");
        }
    }

    @Test
    void should_not_let_in_a_worker_without_one() throws Exception {
        try (Rig rig = Rig.startWithMutualTls()) {
            Process worker = rig.launch(
                    1,
                    5,
                    Map.of(
                            "LAMBDA_DISPATCHER_HANDLER",
                            DemoHandler.class.getName(),
                            "LAMBDA_DISPATCHER_ADDRESSES",
                            "localhost:" + rig.dispatcher.workerAddress().getPort(),
                            "LAMBDA_DISPATCHER_TLS_TRUST_PEM",
                            rig.certificateFile().toString(),
                            "LAMBDA_DISPATCHER_LONE_TIMEOUT_MILLIS",
                            "2000"));
            assertThat(worker.waitFor(120, TimeUnit.SECONDS)).isTrue();
            assertThat(rig.pool().workers()).isZero();
        }
    }
}
