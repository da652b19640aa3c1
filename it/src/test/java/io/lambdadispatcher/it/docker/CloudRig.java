package io.lambdadispatcher.it.docker;

import io.lambdadispatcher.aws.LambdaLauncher;
import io.lambdadispatcher.core.Dispatcher;
import io.lambdadispatcher.core.observe.CapacitySnapshot;
import io.lambdadispatcher.core.observe.DispatcherObserver;
import io.lambdadispatcher.core.observe.PoolSnapshot;
import io.lambdadispatcher.core.options.FunctionOptions;
import io.lambdadispatcher.core.options.ListenerOptions;
import io.lambdadispatcher.core.options.TlsOptions;
import io.lambdadispatcher.core.spi.WorkerLauncher;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** A dispatcher in this JVM that launches its workers in a {@link Cloud}. */
final class CloudRig implements AutoCloseable {
    final HttpClient client = HttpClient.newBuilder()
            .connectTimeout(Duration.ofSeconds(30))
            .version(HttpClient.Version.HTTP_1_1)
            .build();
    final Dispatcher dispatcher;

    CloudRig(URI lambdaEndpoint, FunctionOptions function) {
        this(lambdaEndpoint, function, DispatcherObserver.NONE);
    }

    CloudRig(URI lambdaEndpoint, FunctionOptions function, DispatcherObserver observer) {
        this(launcher(lambdaEndpoint, function), function, observer);
    }

    private static LambdaLauncher launcher(URI lambdaEndpoint, FunctionOptions function) {
        LambdaLauncher launcher = LambdaLauncher.builder()
                .function(function.name(), function.name())
                .region(Cloud.REGION)
                .endpoint(lambdaEndpoint)
                .build();
        launcher.verify().join();
        return launcher;
    }

    CloudRig(WorkerLauncher launcher, FunctionOptions function) {
        this(launcher, function, DispatcherObserver.NONE);
    }

    CloudRig(WorkerLauncher launcher, FunctionOptions function, DispatcherObserver observer) {
        this(launcher, function, observer, null);
    }

    private static ListenerOptions listener(@Nullable TlsOptions tls) {
        InetSocketAddress address = new InetSocketAddress("0.0.0.0", 0);
        return tls == null ? ListenerOptions.workers(address) : ListenerOptions.tls(address, tls);
    }

    /** @param tls of the worker port; {@code null} = with a key that follows from the secret */
    CloudRig(WorkerLauncher launcher, FunctionOptions function, DispatcherObserver observer, @Nullable TlsOptions tls) {
        dispatcher = Dispatcher.builder()
                .function(function)
                .publicListener(ListenerOptions.plain("127.0.0.1", 0))
                .workerListener(listener(tls))
                .advertisedAddresses(List.of(InetSocketAddress.createUnresolved(Cloud.HOST, 0)))
                .launcher(launcher)
                .observer(observer)
                .liveness(Duration.ofSeconds(1), Duration.ofSeconds(6))
                .start();
    }

    Dispatcher dispatcher() {
        return dispatcher;
    }

    URI uri(String path) {
        return URI.create(
                "http://127.0.0.1:" + dispatcher.publicAddresses().get(0).getPort() + path);
    }

    HttpResponse<byte[]> get(String path) throws Exception {
        return client.send(HttpRequest.newBuilder(uri(path)).build(), BodyHandlers.ofByteArray());
    }

    CompletableFuture<HttpResponse<String>> getAsync(String path) {
        return client.sendAsync(HttpRequest.newBuilder(uri(path)).build(), BodyHandlers.ofString());
    }

    /** The response to a request with a body. */
    record Echo(String statusLine, byte[] body) {}

    /**
     * Uses a socket, because the echo answers while the request is being sent. The JDK's HTTP/1.1
     * client reads only after it has sent everything.
     */
    Echo post(String path, byte[] body) throws Exception {
        try (Socket socket = new Socket("127.0.0.1", uri(path).getPort())) {
            socket.setSoTimeout(120_000);
            OutputStream out = socket.getOutputStream();
            CompletableFuture<Void> sent = CompletableFuture.runAsync(() -> {
                try {
                    out.write(("POST " + path + " HTTP/1.0\r\nContent-Length: " + body.length + "\r\n\r\n")
                            .getBytes(StandardCharsets.US_ASCII));
                    out.write(body);
                } catch (IOException e) {
                    throw new UncheckedIOException(e);
                }
            });
            byte[] response = socket.getInputStream().readAllBytes();
            sent.get(10, TimeUnit.SECONDS);
            String text = new String(response, StandardCharsets.ISO_8859_1);
            int end = text.indexOf("\r\n\r\n") + 4;
            return new Echo(
                    text.substring(0, text.indexOf("\r\n")), Arrays.copyOfRange(response, end, response.length));
        }
    }

    PoolSnapshot pool() {
        return dispatcher.pools().get(0);
    }

    CapacitySnapshot capacity() {
        return dispatcher.capacity().get(0);
    }

    @Override
    public void close() {
        dispatcher.close(Duration.ofSeconds(20)).toCompletableFuture().join();
    }
}
