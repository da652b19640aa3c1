package io.lambdadispatcher.bench.loopback;

import io.lambdadispatcher.core.Dispatcher;
import io.lambdadispatcher.core.options.FunctionOptions;
import io.lambdadispatcher.core.options.HttpLimits;
import io.lambdadispatcher.core.options.ListenerOptions;
import io.lambdadispatcher.core.options.TlsOptions;
import io.lambdadispatcher.worker.Worker;
import io.lambdadispatcher.worker.config.Credential;
import io.lambdadispatcher.worker.config.WorkerConfig;
import io.lambdadispatcher.worker.config.WorkerTls;
import io.lambdadispatcher.worker.handler.DrainReason;
import io.lambdadispatcher.worker.handler.Handler;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.UnpooledByteBufAllocator;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.handler.ssl.ApplicationProtocolConfig;
import io.netty.handler.ssl.ApplicationProtocolConfig.Protocol;
import io.netty.handler.ssl.ApplicationProtocolConfig.SelectedListenerFailureBehavior;
import io.netty.handler.ssl.ApplicationProtocolConfig.SelectorFailureBehavior;
import io.netty.handler.ssl.ApplicationProtocolNames;
import io.netty.handler.ssl.SslContext;
import io.netty.handler.ssl.SslContextBuilder;
import io.netty.pkitesting.CertificateBuilder;
import io.netty.pkitesting.X509Bundle;
import io.netty.util.AsciiString;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * A dispatcher, a worker and a client in this JVM, each on its own event loop, connected over
 * loopback. The worker's handler answers with four bytes. The worker always uses epoll if it loads,
 * and otherwise NIO.
 */
final class Loopback implements AutoCloseable {
    private static final String SECRET = "a secret of the benchmarks";
    private static final int STREAMS = 100;
    private static final String HOST = "127.0.0.1";

    private final ByteBuf pong = ByteBufUtil.writeAscii(UnpooledByteBufAllocator.DEFAULT, "pong");
    private final Dispatcher dispatcher;
    private final Worker worker;
    final LoopbackClient client;

    Loopback(Sockets sockets, boolean tls) throws Exception {
        X509Bundle certificate = tls ? certificate() : null;
        ListenerOptions listener = listener(certificate);
        dispatcher = Dispatcher.builder()
                .function(FunctionOptions.of("ping"))
                .publicListener(listener)
                .workerListener(listener)
                .secret(SECRET)
                .transport(sockets.transport())
                .eventLoops(1)
                // The client starts a request before its HTTP/2 codec has noticed the end of the
                // previous one.
                .limits(HttpLimits.builder().maxConcurrentStreams(2 * STREAMS).build())
                .start();
        worker = new Worker(workerConfig(certificate), handler()).start();
        worker.ready().toCompletableFuture().get(10, TimeUnit.SECONDS);
        client = new LoopbackClient(sockets, dispatcher.publicAddresses().get(0), clientTls(certificate));
    }

    private static X509Bundle certificate() throws Exception {
        return new CertificateBuilder()
                .subject("CN=localhost")
                .ecp256()
                .setIsCertificateAuthority(true)
                .addSanIpAddress(HOST)
                .buildSelfSigned();
    }

    /** Returns a listener on any free port. */
    private static ListenerOptions listener(@Nullable X509Bundle certificate) throws Exception {
        if (certificate == null) {
            return ListenerOptions.plain(HOST, 0);
        }
        Path directory = Files.createTempDirectory("lambda-dispatcher-bench");
        Path chain = Files.writeString(directory.resolve("cert.pem"), certificate.getCertificatePathPEM());
        Path key = Files.writeString(directory.resolve("key.pem"), certificate.getPrivateKeyPEM());
        List.of(directory, chain, key).forEach(path -> path.toFile().deleteOnExit());
        return ListenerOptions.tls(HOST, 0, TlsOptions.of(chain, key));
    }

    private WorkerConfig workerConfig(@Nullable X509Bundle certificate) {
        InetSocketAddress address = InetSocketAddress.createUnresolved(
                HOST, dispatcher.workerAddress().getPort());
        WorkerConfig.Builder config = WorkerConfig.builder("ping", new Credential.Secret(SECRET), List.of(address))
                .workerId("worker")
                .connections(1)
                .streams(STREAMS);
        return certificate == null
                ? config.plain().build()
                : config.tls(WorkerTls.pemText(certificate.getCertificatePathPEM()))
                        .build();
    }

    private Handler handler() {
        Http2Headers head = new DefaultHttp2Headers()
                .status(AsciiString.cached("200"))
                .set(HttpHeaderNames.CONTENT_TYPE, AsciiString.cached("text/plain"))
                .set(HttpHeaderNames.CONTENT_LENGTH, AsciiString.cached("4"));
        return (request, response) -> response.respond(head, pong.retainedDuplicate());
    }

    private static @Nullable SslContext clientTls(@Nullable X509Bundle certificate) throws Exception {
        if (certificate == null) {
            return null;
        }
        return SslContextBuilder.forClient()
                .trustManager(certificate.getCertificate())
                .applicationProtocolConfig(new ApplicationProtocolConfig(
                        Protocol.ALPN,
                        SelectorFailureBehavior.NO_ADVERTISE,
                        SelectedListenerFailureBehavior.ACCEPT,
                        ApplicationProtocolNames.HTTP_2))
                .build();
    }

    @Override
    public void close() throws Exception {
        client.close();
        worker.drain(DrainReason.REQUESTED);
        worker.done().toCompletableFuture().get(10, TimeUnit.SECONDS);
        dispatcher.close(Duration.ofSeconds(5)).toCompletableFuture().get(10, TimeUnit.SECONDS);
        pong.release();
    }
}
