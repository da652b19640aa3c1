package io.lambdadispatcher.it;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.core.spi.LaunchPayload;
import io.lambdadispatcher.core.spi.WorkerLauncher.LaunchRequest;
import io.lambdadispatcher.worker.config.WorkerConfig;
import io.lambdadispatcher.worker.config.WorkerTls;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Checks that the worker can read the launch payload that the dispatcher writes. */
class LaunchPayloadTest {

    private static LaunchRequest request(List<String> fingerprints, Duration maxLife) {
        return new LaunchRequest(
                "a \"function\"",
                "worker-1",
                "v1.token",
                List.of(
                        InetSocketAddress.createUnresolved("dispatcher.internal", 8444),
                        new InetSocketAddress("2001:db8::1", 8445),
                        new InetSocketAddress("0.0.0.0", 8446)),
                3,
                70,
                fingerprints,
                maxLife,
                "",
                0);
    }

    @Test
    void should_tell_the_worker_all_it_needs() {
        WorkerConfig read = WorkerConfig.ofPayload(LaunchPayload.json(request(List.of(), Duration.ofMinutes(14))));

        assertThat(read.function()).isEqualTo("a \"function\"");
        assertThat(read.workerId()).isEqualTo("worker-1");
        assertThat(read.connections()).isEqualTo(3);
        assertThat(read.streams()).isEqualTo(70);
        assertThat(read.deadline()).isEqualTo(Duration.ofMinutes(14));
        assertThat(read.tls()).isNull();
        assertThat(read.addresses().stream().map(InetSocketAddress::getPort)).containsExactly(8444, 8445, 8446);
        assertThat(read.addresses().stream().map(InetSocketAddress::getHostString))
                .containsExactly("dispatcher.internal", "2001:db8:0:0:0:0:0:1", "127.0.0.1");
    }

    @Test
    void should_leave_the_deadline_to_the_place_when_life_has_no_limit() {
        WorkerConfig read = WorkerConfig.ofPayload(LaunchPayload.json(request(List.of(), Duration.ZERO)));

        assertThat(read.deadline()).isEqualTo(Duration.ZERO);
    }

    @Test
    void should_have_the_worker_accept_the_keys_of_the_port_and_no_others() {
        String first = "0123456789abcdef".repeat(4);
        String other = "fedcba9876543210".repeat(4);
        WorkerTls tls = WorkerConfig.ofPayload(LaunchPayload.json(request(List.of(first, other), Duration.ZERO)))
                .tls();

        assertThat(tls).isEqualTo(WorkerTls.fingerprint(first + "," + other));
        assertThat(tls.fingerprints()).containsExactly(first, other);
    }
}
