package io.lambdadispatcher.benchmarks.gateway;

import io.vertx.core.Vertx;
import io.vertx.core.VertxOptions;
import io.vertx.core.http.HttpClient;
import io.vertx.core.http.HttpClientOptions;
import io.vertx.core.http.HttpServerOptions;
import io.vertx.core.http.PoolOptions;
import io.vertx.httpproxy.HttpProxy;

/**
 * Vert.x's reverse proxy on one event loop. It accepts HTTP/2 and HTTP/1.1, and forwards over
 * HTTP/1.1. Arguments: its own port, and the backend's port.
 */
public final class VertxGateway {
    /** The default is five, but the load has a hundred requests in flight. */
    private static final int BACKEND_CONNECTIONS = 100;

    private VertxGateway() {}

    public static void main(String[] args) {
        int port = Integer.parseInt(args[0]);
        int backend = Integer.parseInt(args[1]);
        Vertx vertx = Vertx.vertx(new VertxOptions().setEventLoopPoolSize(1).setPreferNativeTransport(true));
        HttpClient client =
                vertx.createHttpClient(new HttpClientOptions(), new PoolOptions().setHttp1MaxSize(BACKEND_CONNECTIONS));
        HttpProxy proxy = HttpProxy.reverseProxy(client).origin(backend, "127.0.0.1");
        vertx.createHttpServer(new HttpServerOptions().setHost("127.0.0.1").setPort(port))
                .requestHandler(proxy)
                .listen()
                .onFailure(cause -> {
                    System.err.println("no server on port " + port + ": " + cause);
                    System.exit(1);
                });
    }
}
