package io.lambdadispatcher.it;

import io.lambdadispatcher.core.Dispatcher;
import io.lambdadispatcher.core.DispatcherBuilder;
import io.lambdadispatcher.core.observe.DispatcherObserver;
import io.lambdadispatcher.core.observe.PoolSnapshot;
import io.lambdadispatcher.core.options.FunctionOptions;
import io.lambdadispatcher.core.options.HttpLimits;
import io.lambdadispatcher.core.options.ListenerOptions;
import io.lambdadispatcher.core.options.TlsOptions;
import io.lambdadispatcher.server.demo.DemoHandler;
import io.lambdadispatcher.wire.testkit.Await;
import io.lambdadispatcher.worker.WorkerHere;
import io.netty.pkitesting.CertificateBuilder;
import io.netty.pkitesting.X509Bundle;
import java.io.File;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyStore;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.UnaryOperator;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;

/**
 * A dispatcher in this JVM on free ports. Workers are in this JVM, too, unless a test needs their
 * processes: to kill them, to limit their memory, or for their environment. Timeouts allow for
 * slow machines: starting one or two JVMs may take almost a minute, and a garbage collection must
 * not look like a dead worker.
 */
final class Rig implements AutoCloseable {
    static final String SECRET = "a secret of the integration tests";

    /** Configures a worker to serve the demo's routes. */
    static final Map<String, String> DEMO = Map.of("LAMBDA_DISPATCHER_HANDLER", DemoHandler.class.getName());

    private static final Duration MOST_WAIT = Duration.ofSeconds(60);
    private static final Duration MOST_START = Duration.ofSeconds(150);

    private final X509Bundle certificate;
    private final boolean workerTls;
    private final Path directory;
    private final List<Process> workers = new ArrayList<>();
    private final List<WorkerHere> workersHere = new ArrayList<>();
    final Dispatcher dispatcher;

    private Rig(
            FunctionOptions function,
            DispatcherObserver observer,
            boolean workerTls,
            UnaryOperator<DispatcherBuilder> more) {
        this.workerTls = workerTls;
        try {
            directory = Files.createTempDirectory("lambda-dispatcher-it");
            certificate = new CertificateBuilder()
                    .subject("CN=localhost")
                    .ecp256()
                    .setIsCertificateAuthority(true)
                    .addSanDnsName("localhost")
                    .buildSelfSigned();
            Files.writeString(directory.resolve("cert.pem"), certificate.getCertificatePathPEM());
            Files.writeString(directory.resolve("key.pem"), certificate.getPrivateKeyPEM());
        } catch (Exception e) {
            throw new IllegalStateException("no certificate", e);
        }
        TlsOptions tls = TlsOptions.of(certificateFile(), keyFile());
        TlsOptions mutualTls = TlsOptions.of(certificateFile(), keyFile()).withClientCertificates(certificateFile());
        dispatcher = more.apply(Dispatcher.builder()
                        .function(function)
                        .publicListener(ListenerOptions.plain("127.0.0.1", 0))
                        .publicListener(ListenerOptions.tls("127.0.0.1", 0, tls))
                        .workerListener(
                                workerTls
                                        ? ListenerOptions.tls("127.0.0.1", 0, mutualTls)
                                        : ListenerOptions.plain("127.0.0.1", 0))
                        .secret(SECRET)
                        .observer(observer)
                        .limits(HttpLimits.builder().headerTimeout(MOST_WAIT).build())
                        .liveness(Duration.ofSeconds(2), Duration.ofSeconds(30)))
                .start();
    }

    /**
     * Returns the options of the rig's only function, with streams for the workers of all tests.
     */
    static FunctionOptions.Builder function() {
        return FunctionOptions.builder("demo").connectionsPerWorker(2).streamsPerConnection(100);
    }

    static Rig start() {
        return start(function().build(), DispatcherObserver.NONE);
    }

    static Rig start(FunctionOptions function, DispatcherObserver observer) {
        return start(function, observer, builder -> builder);
    }

    static Rig start(FunctionOptions function, DispatcherObserver observer, UnaryOperator<DispatcherBuilder> more) {
        return new Rig(function, observer, false, more);
    }

    /** The worker port uses TLS and requires a client certificate, which can be this rig's own. */
    static Rig startWithMutualTls() {
        return new Rig(function().build(), DispatcherObserver.NONE, true, builder -> builder);
    }

    Path certificateFile() {
        return directory.resolve("cert.pem");
    }

    Path keyFile() {
        return directory.resolve("key.pem");
    }

    /** Starts a worker with the demo's routes in this JVM and waits until it is ready. */
    void worker(int connections, int streams) {
        worker(connections, streams, DEMO);
    }

    /**
     * Starts a worker in this JVM and waits until it is ready.
     *
     * @param variables configure what the worker serves. They are not in the environment of this
     *     JVM, so what reads them there needs a {@link #process}
     */
    void worker(int connections, int streams, Map<String, String> variables) {
        variables.keySet().stream()
                .filter(name -> !name.startsWith("LAMBDA_DISPATCHER_"))
                .forEach(name -> {
                    throw new IllegalArgumentException(name + " is for a process");
                });
        awaitReady(connections, streams, () -> {
            Map<String, String> environment = environment(connections, streams);
            environment.putAll(variables);
            workersHere.add(WorkerHere.start(environment));
        });
    }

    /** Starts a worker process and waits until it is ready. */
    Process process(int connections, int streams, Map<String, String> variables) {
        Process[] process = new Process[1];
        awaitReady(connections, streams, () -> process[0] = launch(connections, streams, variables));
        return process[0];
    }

    private void awaitReady(int connections, int streams, Runnable start) {
        int ready = pool().readyWorkers();
        start.run();
        Await.until("worker is ready", MOST_START, () -> {
            PoolSnapshot now = pool();
            return now.readyWorkers() > ready && now.streams() >= connections * streams && now.free() >= streams;
        });
    }

    Process launch(int connections, int streams, Map<String, String> variables) {
        ProcessBuilder builder = new ProcessBuilder(
                        ChildJvm.command(ChildJvm.WORKER, "-Xmx" + variables.getOrDefault("IT_WORKER_HEAP", "256m")))
                .redirectErrorStream(true)
                .redirectOutput(
                        directory.resolve("worker-" + workers.size() + ".log").toFile());
        builder.environment().putAll(environment(connections, streams));
        builder.environment().put("LAMBDA_DISPATCHER_EXIT_WITH_PARENT", "true");
        builder.environment().putAll(variables);
        try {
            Process process = builder.start();
            workers.add(process);
            return process;
        } catch (IOException e) {
            throw new IllegalStateException("no worker process", e);
        }
    }

    private Map<String, String> environment(int connections, int streams) {
        return new HashMap<>(Map.of(
                "LAMBDA_DISPATCHER_ADDRESSES",
                "127.0.0.1:" + dispatcher.workerAddress().getPort(),
                "LAMBDA_DISPATCHER_FUNCTION",
                "demo",
                "LAMBDA_DISPATCHER_SECRET",
                SECRET,
                "LAMBDA_DISPATCHER_TLS",
                Boolean.toString(workerTls),
                "LAMBDA_DISPATCHER_CONNECTIONS",
                Integer.toString(connections),
                "LAMBDA_DISPATCHER_STREAMS",
                Integer.toString(streams)));
    }

    PoolSnapshot pool() {
        return dispatcher.pools().get(0);
    }

    int plainPort() {
        return dispatcher.publicAddresses().get(0).getPort();
    }

    URI http(String path) {
        return URI.create("http://127.0.0.1:" + plainPort() + path);
    }

    URI https(String path) {
        return URI.create(
                "https://localhost:" + dispatcher.publicAddresses().get(1).getPort() + path);
    }

    /** A client for {@link #https} if the version is HTTP/2, and for {@link #http} if HTTP/1.1. */
    HttpClient client(HttpClient.Version version) {
        return HttpClient.newBuilder()
                .version(version)
                .sslContext(trust())
                .connectTimeout(Duration.ofSeconds(30))
                .build();
    }

    private SSLContext trust() {
        try {
            KeyStore store = KeyStore.getInstance(KeyStore.getDefaultType());
            store.load(null, null);
            store.setCertificateEntry("dispatcher", certificate.getCertificate());
            TrustManagerFactory trust = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
            trust.init(store);
            SSLContext context = SSLContext.getInstance("TLS");
            context.init(null, trust.getTrustManagers(), null);
            return context;
        } catch (Exception e) {
            throw new IllegalStateException("no TLS context", e);
        }
    }

    /** Waits until every worker stream is free, so all exchanges have ended in both directions. */
    void awaitAllFree() {
        Await.until("all streams free", () -> pool().free() == pool().streams() && pool().queued() == 0);
    }

    @Override
    public void close() throws Exception {
        dispatcher.close(Duration.ZERO).toCompletableFuture().get(60, TimeUnit.SECONDS);
        workersHere.forEach(WorkerHere::close);
        for (Process worker : workers) {
            worker.destroyForcibly().waitFor();
        }
        File[] files = directory.toFile().listFiles();
        for (File file : files == null ? new File[0] : files) {
            Files.delete(file.toPath());
        }
        Files.delete(directory);
    }
}
