package io.lambdadispatcher.worker.adapter.web;

import static org.assertj.core.api.Assertions.assertThatCode;

import com.sun.net.httpserver.HttpServer;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(180)
class ExtensionMainTest {
    @Test
    void should_survive_an_error_without_a_body() throws Exception {
        HttpServer lambda = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        lambda.createContext("/", exchange -> {
            exchange.sendResponseHeaders(403, -1);
            exchange.close();
        });
        lambda.start();
        try {
            String api = "127.0.0.1:" + lambda.getAddress().getPort();
            assertThatCode(() -> ExtensionMain.awaitNext(api, "id")).doesNotThrowAnyException();
        } finally {
            lambda.stop(0);
        }
    }
}
