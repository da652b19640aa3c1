package io.lambdadispatcher.core;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.lambdadispatcher.core.options.FunctionOptions;
import io.lambdadispatcher.core.options.ListenerOptions;
import io.lambdadispatcher.core.spi.InProcessHandler;
import java.io.UncheckedIOException;
import java.net.ConnectException;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Public ports that open after the start. */
class LatePortTest {
    private static final ListenerOptions ANY_PORT = ListenerOptions.plain("127.0.0.1", 0);

    private final HttpClient client = HttpClient.newHttpClient();
    private final InProcessHandler handler = (request, response) -> response.respond(200, "served");
    private final Dispatcher dispatcher = Dispatcher.builder()
            .eventLoops(1)
            .function(FunctionOptions.of("f"))
            .inProcess("f", handler, 1)
            .workerListener(ANY_PORT)
            .secret(new byte[32])
            .start();

    @AfterEach
    void close() {
        dispatcher.close();
    }

    private String get(InetSocketAddress address) throws Exception {
        URI uri = URI.create("http://127.0.0.1:" + address.getPort() + "/");
        HttpResponse<String> response = client.send(HttpRequest.newBuilder(uri).build(), BodyHandlers.ofString());
        return response.body();
    }

    @Test
    void should_serve_on_a_port_that_opens_later_and_close_it() throws Exception {
        assertThat(dispatcher.publicAddresses()).isEmpty();
        InetSocketAddress first = dispatcher.listen(ANY_PORT);
        InetSocketAddress second = dispatcher.listen(ANY_PORT);
        assertThat(dispatcher.publicAddresses()).containsExactly(first, second);
        assertThat(get(first)).isEqualTo("served");
        assertThat(get(second)).isEqualTo("served");
        dispatcher.close();
        for (InetSocketAddress address : dispatcher.publicAddresses()) {
            assertThatThrownBy(() -> get(address)).isInstanceOf(ConnectException.class);
        }
    }

    @Test
    void should_refuse_a_port_that_cannot_be_public() {
        InetSocketAddress taken = dispatcher.listen(ANY_PORT);
        assertThatThrownBy(() -> dispatcher.listen(ListenerOptions.plain("127.0.0.1", taken.getPort())))
                .isInstanceOf(UncheckedIOException.class)
                .hasMessageContaining("cannot listen on 127.0.0.1:" + taken.getPort());
        assertThatThrownBy(() -> dispatcher.listen(ListenerOptions.workers("127.0.0.1", 0)))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("expected plain(...) or tls(...)");
        assertThat(dispatcher.publicAddresses()).containsExactly(taken);
        dispatcher.close();
        assertThatThrownBy(() -> dispatcher.listen(ANY_PORT))
                .isInstanceOf(IllegalStateException.class)
                .hasMessage("the dispatcher is closing or closed");
    }
}
