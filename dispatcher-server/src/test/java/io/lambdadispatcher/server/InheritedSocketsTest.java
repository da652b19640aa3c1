package io.lambdadispatcher.server;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.lambdadispatcher.core.options.ListenerOptions;
import io.lambdadispatcher.server.config.TransportKind;
import io.lambdadispatcher.server.transport.TransportChoice;
import io.netty.channel.epoll.Epoll;
import java.util.Map;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Test;

/** What is wrong with sockets that systemd passes on. {@code SocketActivationIT} uses real ones. */
class InheritedSocketsTest {
    private static final String OWN_PID = Long.toString(ProcessHandle.current().pid());

    private static InheritedSockets of(TransportKind transport, String count, String pid) throws StartException {
        return InheritedSockets.of(Map.of("LISTEN_FDS", count, "LISTEN_PID", pid), TransportChoice.of(transport));
    }

    @Test
    void should_ignore_the_sockets_of_another_process() throws Exception {
        ListenerOptions options = ListenerOptions.plain("127.0.0.1", 8080);
        for (InheritedSockets none : new InheritedSockets[] {
            of(TransportKind.NIO, "1", "1"), InheritedSockets.of(Map.of(), TransportChoice.of(TransportKind.NIO))
        }) {
            assertThat(none.attach(options).socket()).isNull();
            assertThatCode(none::requireAllUsed).doesNotThrowAnyException();
        }
    }

    @Test
    void should_refuse_a_number_that_is_none() {
        assertThatThrownBy(() -> of(TransportKind.AUTO, "all", OWN_PID))
                .isInstanceOf(StartException.class)
                .hasMessage("LISTEN_FDS: expected a number of sockets, got \"all\"");
    }

    @Test
    void should_refuse_another_transport() {
        assertThatThrownBy(() -> of(TransportKind.NIO, "1", OWN_PID))
                .isInstanceOf(StartException.class)
                .hasMessage(
                        "LISTEN_FDS: sockets of systemd need the transport epoll, got \"nio\" (as set). Set transport"
                                + " to epoll, or stop the .socket unit.");
    }

    /** Descriptor 3 of a JVM is a file of its own, or is closed. */
    @Test
    void should_refuse_what_is_no_socket() {
        Assumptions.assumeTrue(Epoll.isAvailable(), "sockets are taken with epoll only");
        assertThatThrownBy(() -> of(TransportKind.EPOLL, "1", OWN_PID))
                .isInstanceOf(StartException.class)
                .hasMessage("LISTEN_FDS: expected TCP sockets, but descriptor 3 is none. Correct ListenStream in the"
                        + " .socket unit.");
    }
}
