package io.lambdadispatcher.test;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.net.httpserver.HttpServer;
import io.lambdadispatcher.core.request.DispatchRequest;
import io.lambdadispatcher.worker.handler.Handler;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The filter that {@code docs/guides/write-a-filter.md} shows, and its test. */
@Timeout(60)
class AuthorizationTest {
    private static final Path GUIDE = Path.of("../../docs/guides/write-a-filter.md");
    private static final Path SOURCE = Path.of("src/test/java/io/lambdadispatcher/test/Authorization.java");

    private final AtomicInteger served = new AtomicInteger();
    private final Handler handler = (request, response) -> {
        served.incrementAndGet();
        response.respond(new DefaultHttp2Headers().status("204"));
    };

    private HttpServer service;

    @BeforeEach
    void start() throws Exception {
        service = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        service.createContext("/", exchange -> {
            boolean known = "of a user".equals(exchange.getRequestHeaders().getFirst("authorization"));
            exchange.sendResponseHeaders(known ? 200 : 403, -1);
            exchange.close();
        });
        service.start();
    }

    @AfterEach
    void stop() {
        service.stop(0);
    }

    private static DispatchRequest with(String authorization) {
        return DispatchRequest.get("/").header("authorization", authorization).build();
    }

    @Test
    void should_serve_only_whom_the_service_knows() {
        URI address = URI.create("http://127.0.0.1:" + service.getAddress().getPort() + "/");
        try (TestDispatcher dispatcher =
                TestDispatcher.serving(handler, builder -> builder.filter(new Authorization(address)))) {
            assertThat(dispatcher.get("/").status()).isEqualTo(401);
            assertThat(dispatcher.send(with("of nobody")).status()).isEqualTo(403);
            assertThat(served).hasValue(0);
            assertThat(dispatcher.send(with("of a user")).status()).isEqualTo(204);
            assertThat(served).hasValue(1);
            service.stop(0);
            assertThat(dispatcher.send(with("of a user")).status()).isEqualTo(503);
        }
    }

    @Test
    void should_be_what_the_guide_shows() throws Exception {
        String source = Files.readString(SOURCE);
        assertThat(Files.readString(GUIDE)).contains(source.substring(source.indexOf("import ")));
    }
}
