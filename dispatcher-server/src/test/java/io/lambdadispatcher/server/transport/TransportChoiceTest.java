package io.lambdadispatcher.server.transport;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assumptions.assumeThat;

import io.lambdadispatcher.server.config.TransportKind;
import io.lambdadispatcher.wire.testkit.EachRelease;
import io.netty.channel.epoll.Epoll;
import io.netty.channel.uring.IoUring;
import org.junit.jupiter.api.Test;

@EachRelease
class TransportChoiceTest {
    @Test
    void should_prefer_epoll_where_it_loads() {
        TransportChoice choice = TransportChoice.of(TransportKind.AUTO);

        assertThat(choice.transport().name()).isEqualTo(Epoll.isAvailable() ? "epoll" : "nio");
        assertThat(choice.reason()).startsWith("auto: ");
    }

    @Test
    void should_take_nio_when_told() {
        assertThat(TransportChoice.of(TransportKind.NIO).transport().name()).isEqualTo("nio");
    }

    @Test
    void should_say_why_io_uring_does_not_load() {
        assumeThat(IoUring.isAvailable()).as("io_uring loads here").isFalse();

        assertThatThrownBy(() -> TransportChoice.of(TransportKind.IO_URING))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageStartingWith("transport: expected auto, or a transport that loads, got \"io_uring\": ");
    }

    @Test
    void should_name_the_tls_provider() {
        assertThat(TlsProvider.description()).isNotBlank();
    }
}
