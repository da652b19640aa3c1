import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.net.HttpURLConnection;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublisher;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;

/**
 * Runs the program of an image or of a function once, while it is built. The classes that it loads
 * are stored in a cache (JEP 514), from which later starts read them.
 */
public final class Train {
    /** The directory of an image. A cache is valid only there. */
    private static final String HOME = Path.of("").toAbsolutePath().toString();

    private static final String JAVA = HOME + "/java/bin/java";
    private static final String SECRET = "only while the image is built, no worker accepts it";
    /** What {@code dispatcher worker keys} prints for the secret. */
    private static final String FINGERPRINT = "40ac233af2e9645e5bf18ab2000561c98a7063935ed720e5be4b159745d1341e";

    private static final int REQUESTS = 20;
    private static final int CONCURRENT_REQUESTS = 16;

    /** The cache contains objects only if G1 writes it. Other collectors can read them. */
    private static final Map<String, String> WRITER = Map.of("JDK_AOT_VM_OPTIONS", "-XX:-UseSerialGC -XX:+UseG1GC");

    private static final int[] PORTS = freePorts();
    private static final int ADMIN_PORT = PORTS[0];
    private static final int PUBLIC_PORT = PORTS[1];
    private static final int WORKERS_PORT = PORTS[2];
    private static final String READY = ADMIN_PORT + "/ready";
    private static final String PUBLIC = PUBLIC_PORT + "/";

    private Train() {}

    /**
     * @param arguments {@code serve} for the dispatcher; {@code work} and the class path of a
     *     dispatcher for the worker of an image; or {@code function}, that class path, the
     *     directory of the function, the class of its handler, and the home of the JVM of a managed
     *     runtime, or an empty text for the function's own
     */
    public static void main(String[] arguments) {
        try {
            switch (arguments[0]) {
                case "serve" -> serve();
                case "work" -> image(arguments[1]);
                default -> function(arguments[1], arguments[2], arguments[3], arguments[4]);
            }
        } catch (Exception | LinkageError e) {
            e.printStackTrace();
            ProcessHandle.current().children().forEach(ProcessHandle::destroyForcibly);
            System.exit(1);
        }
    }

    /**
     * Lets the dispatcher do what it will do on AWS: it launches a worker through a stand-in for
     * Lambda, and serves requests, so the cache contains the classes of both.
     */
    private static void serve() throws Exception {
        HttpServer lambda = lambda();
        Process server = start(
                List.of(JAVA, "@" + HOME + "/server.flags", cacheOutput(), classPath(), "io.lambdadispatcher.server.Main", "serve"),
                settings(
                        WRITER,
                        Map.of(
                                "LAMBDA_DISPATCHER_FUNCTION_LAUNCHER", "lambda",
                                "LAMBDA_DISPATCHER_FUNCTION_LAMBDA", "trained",
                                "LAMBDA_DISPATCHER_FUNCTION_MAX_WORKERS", "1",
                                "LAMBDA_DISPATCHER_FUNCTION_MIN_WORKERS", "1",
                                "LAMBDA_DISPATCHER_AWS_ENDPOINT", "http://127.0.0.1:" + lambda.getAddress().getPort(),
                                "LAMBDA_DISPATCHER_WORKERS_ADVERTISED_ADDRESSES", "127.0.0.1:" + WORKERS_PORT,
                                "AWS_REGION", "us-east-1",
                                "AWS_ACCESS_KEY_ID", "none",
                                "AWS_SECRET_ACCESS_KEY", "none")));
        await(server, READY, 200);
        for (HttpClient.Version version : HttpClient.Version.values()) {
            load(version);
        }
        await(server, ADMIN_PORT + "/metrics", 200);
        end(server);
        lambda.stop(0);
    }

    /** Starts a stand-in for Lambda, which serves each invocation with a process of its own. */
    private static HttpServer lambda() throws IOException {
        HttpServer server = httpServer();
        server.createContext("/2015-03-31/functions/", exchange -> {
            String payload = new String(exchange.getRequestBody().readAllBytes(), StandardCharsets.UTF_8);
            if ("DryRun".equals(exchange.getRequestHeaders().getFirst("X-Amz-Invocation-Type"))) {
                exchange.sendResponseHeaders(204, -1);
                exchange.close();
                return;
            }
            Process worker = start(
                    List.of(JAVA, "@" + HOME + "/server.flags", classPath(), "io.lambdadispatcher.worker.WorkerMain"),
                    Map.of(
                            "LAMBDA_DISPATCHER_PAYLOAD", payload,
                            "LAMBDA_DISPATCHER_HANDLER", "io.lambdadispatcher.server.demo.DemoHandler"));
            worker.onExit().join();
            answer(exchange, 200, "{}");
        });
        server.start();
        return server;
    }

    /** Sends requests with small and large bodies. */
    private static void load(HttpClient.Version version) {
        HttpClient client = HttpClient.newBuilder().version(version).build();
        BodyPublisher body = BodyPublishers.ofByteArray(new byte[100_000]);
        HttpRequest small = HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + PUBLIC + "ping")).build();
        HttpRequest large =
                HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + PUBLIC + "echo")).POST(body).build();
        for (int round = 0; round < REQUESTS; round++) {
            List<CompletableFuture<HttpResponse<Void>>> answers = new ArrayList<>();
            for (int i = 0; i < CONCURRENT_REQUESTS; i++) {
                answers.add(client.sendAsync(i == 0 ? large : small, BodyHandlers.discarding()));
            }
            for (CompletableFuture<HttpResponse<Void>> answer : answers) {
                int status = answer.join().statusCode();
                if (status != HttpURLConnection.HTTP_OK) {
                    throw new IllegalStateException("a request was answered with " + status);
                }
            }
        }
    }

    private static void image(String dispatcherClassPath) throws Exception {
        List<String> command = List.of(
                JAVA,
                "@" + HOME + "/worker.flags",
                cacheOutput(),
                classPath(),
                "com.amazonaws.services.lambda.runtime.api.client.AWSLambda",
                "io.lambdadispatcher.worker.LambdaHandler");
        work(JAVA, dispatcherClassPath, command, Map.of("LAMBDA_DISPATCHER_HANDLER", "com.example.hello.HelloHandler"));
    }

    /** @param javaHome the JVM of a managed runtime; empty = the function's own */
    private static void function(String dispatcherClassPath, String directory, String handler, String javaHome)
            throws Exception {
        List<String> command = new ArrayList<>(List.of(directory + "/bootstrap"));
        boolean aot = true;
        if (!javaHome.isEmpty()) {
            command.addAll(List.of(javaHome + "/bin/java", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", ""));
            command.add("com.amazonaws.services.lambda.runtime.api.client.AWSLambda");
            command.add("io.lambdadispatcher.worker.LambdaHandler");
            Path release = Path.of(javaHome, "release");
            aot = !Files.readString(release).matches("(?s).*JAVA_VERSION=\"(1[0-9]|2[0-4])[.\"].*");
            if (!aot && !directory.equals("/var/task")) {
                throw new IllegalStateException("cannot create /var/task, where Java before 25 needs the function; run as root, or use --image");
            }
            Files.copy(release, Path.of(directory, "classes.release"), StandardCopyOption.REPLACE_EXISTING);
        }
        Path cache = Path.of(directory, aot ? "classes.aot" : "classes.jsa");
        Path list = Path.of(directory, "classes.list");
        Map<String, String> variables = Map.of(
                "LAMBDA_TASK_ROOT",
                directory,
                "LAMBDA_DISPATCHER_HANDLER",
                handler,
                "LAMBDA_DISPATCHER_CACHE_OUTPUT",
                aot ? "-XX:AOTCacheOutput=" + cache : "-XX:DumpLoadedClassList=" + list,
                "_HANDLER",
                "io.lambdadispatcher.worker.LambdaHandler");
        work(System.getProperty("java.home") + "/bin/java", dispatcherClassPath, command, variables);
        if (!aot) {
            dump(command, variables, list, cache);
        }
        if (!Files.exists(cache)) {
            throw new IllegalStateException("the JVM has not written " + cache);
        }
    }

    /**
     * Writes an archive for class data sharing (JEP 310), with the class path of {@code bootstrap}.
     * It is for JVMs before Java 25. As with an AOT cache, only G1 writes objects.
     */
    private static void dump(List<String> command, Map<String, String> variables, Path list, Path archive) throws Exception {
        Map<String, String> ofDump = new HashMap<>(variables);
        ofDump.put("LAMBDA_DISPATCHER_CACHE_OUTPUT", "-Xshare:dump");
        // Unlike other variables, the JVM reads this one after the command line.
        ofDump.put("_JAVA_OPTIONS", "-XX:-UseSerialGC -XX:+UseG1GC -XX:SharedClassListFile=" + list + " -XX:SharedArchiveFile=" + archive);
        int code = start(command, ofDump).waitFor();
        if (code != 0) {
            throw new IllegalStateException("the JVM has not written " + archive + ", exit code " + code);
        }
        Files.delete(list);
    }

    /** Does what Lambda does: starts the function, and invokes it once. */
    private static void work(
            String java, String dispatcherClassPath, List<String> command, Map<String, String> variables) throws Exception {
        Process dispatcher = start(
                List.of(java, "-cp", dispatcherClassPath, "io.lambdadispatcher.server.Main", "serve"),
                settings(Map.of("LAMBDA_DISPATCHER_FUNCTION_NAME", "f")),
                // They are for the worker. A dispatcher refuses those that it does not know.
                name -> name.startsWith("LAMBDA_DISPATCHER_"));
        await(dispatcher, READY, 503);
        CompletableFuture<String> summary = new CompletableFuture<>();
        HttpServer lambda = runtimeApi(
                "{\"function\":\"f\",\"workerId\":\"w\",\"secret\":\"" + SECRET + "\",\"addresses\":[\"localhost:"
                        + WORKERS_PORT + "\"],\"loneTimeoutMillis\":15000,\"tlsFingerprint\":\"" + FINGERPRINT + "\"}",
                summary);
        Map<String, String> all = new HashMap<>(Map.of("LAMBDA_TASK_ROOT", "/var/task"));
        all.putAll(WRITER);
        all.putAll(variables);
        String api = "127.0.0.1:" + lambda.getAddress().getPort();
        all.put("AWS_LAMBDA_RUNTIME_API", api);
        all.put("AWS_LAMBDA_METADATA_API", api);
        Process worker = start(command, all);
        await(worker, READY, 200);
        for (int i = 0; i < REQUESTS; i++) {
            await(worker, PUBLIC);
        }
        // The dispatcher drains its worker. Its invocation returns, because no dispatcher is left.
        end(dispatcher);
        System.out.println("the invocation returned " + summary.get(1, TimeUnit.MINUTES));
        end(worker);
        lambda.stop(0);
    }

    /**
     * Starts a Runtime API (AWS Lambda developer guide, "Using the Lambda runtime API") with one
     * invocation, and the metadata endpoint. The runtime waits for the next invocation until it is
     * ended.
     */
    private static HttpServer runtimeApi(String event, CompletableFuture<String> response) throws IOException {
        HttpServer server = httpServer();
        CompletableFuture<Void> taken = new CompletableFuture<>();
        server.createContext("/2018-06-01/runtime/", exchange -> {
            if (exchange.getRequestMethod().equals("GET")) {
                if (taken.complete(null)) {
                    exchange.getResponseHeaders().set("Lambda-Runtime-Aws-Request-Id", "1");
                    exchange.getResponseHeaders()
                            .set("Lambda-Runtime-Deadline-Ms", Long.toString(System.currentTimeMillis() + 900_000));
                    exchange.getResponseHeaders().set("Lambda-Runtime-Invoked-Function-Arn", "arn:aws:lambda:::function:f");
                    // Without it, the native part of AWS's runtime client crashes.
                    exchange.getResponseHeaders().set("Content-Type", "application/json");
                    answer(exchange, 200, event);
                }
                return;
            }
            String body = new String(exchange.getRequestBody().readAllBytes(), StandardCharsets.UTF_8);
            if (exchange.getRequestURI().getPath().endsWith("/response")) {
                response.complete(body);
            } else {
                response.completeExceptionally(new IllegalStateException("the function failed: " + body));
            }
            answer(exchange, 202, "{}");
        });
        server.createContext("/2026-01-15/metadata/", exchange -> answer(exchange, 200, "{\"AvailabilityZoneID\":\"use1-az1\"}"));
        server.start();
        return server;
    }

    private static HttpServer httpServer() throws IOException {
        HttpServer server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        server.setExecutor(Executors.newCachedThreadPool(task -> {
            Thread thread = new Thread(task);
            thread.setDaemon(true);
            return thread;
        }));
        return server;
    }

    private static void answer(HttpExchange exchange, int status, String body) throws IOException {
        byte[] bytes = body.getBytes(StandardCharsets.UTF_8);
        exchange.sendResponseHeaders(status, bytes.length);
        try (OutputStream out = exchange.getResponseBody()) {
            out.write(bytes);
        }
    }

    @SafeVarargs
    private static Map<String, String> settings(Map<String, String>... more) {
        Map<String, String> settings = new HashMap<>(Map.of(
                "LAMBDA_DISPATCHER_WORKERS_SECRET", SECRET,
                "LAMBDA_DISPATCHER_WORKERS_PORT", Integer.toString(WORKERS_PORT),
                "LAMBDA_DISPATCHER_PUBLIC_PLAIN_PORT", Integer.toString(PUBLIC_PORT),
                "LAMBDA_DISPATCHER_ADMIN_PORT", Integer.toString(ADMIN_PORT),
                "LAMBDA_DISPATCHER_SHUTDOWN_DELAY", "0"));
        for (Map<String, String> some : more) {
            settings.putAll(some);
        }
        return settings;
    }

    /** They are open together, so that they differ. */
    private static int[] freePorts() {
        try (ServerSocket one = new ServerSocket(0);
                ServerSocket two = new ServerSocket(0);
                ServerSocket three = new ServerSocket(0)) {
            return new int[] {one.getLocalPort(), two.getLocalPort(), three.getLocalPort()};
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static String cacheOutput() {
        return "-XX:AOTCacheOutput=" + HOME + "/classes.aot";
    }

    private static String classPath() {
        return "@" + HOME + "/class.path";
    }

    private static Process start(List<String> command, Map<String, String> variables) throws IOException {
        return start(command, variables, name -> false);
    }

    /** @param removed the names of inherited variables that the process must not have */
    private static Process start(List<String> command, Map<String, String> variables, Predicate<String> removed)
            throws IOException {
        ProcessBuilder builder = new ProcessBuilder(command).inheritIO();
        builder.environment().keySet().removeIf(removed);
        builder.environment().putAll(variables);
        return builder.start();
    }

    private static void end(Process process) throws InterruptedException {
        process.destroy();
        if (!process.waitFor(2, TimeUnit.MINUTES)) {
            throw new IllegalStateException("it does not end: " + process.info());
        }
        System.out.println("exit code " + process.exitValue());
    }

    /**
     * Waits until this path of the dispatcher answers with one of these statuses; none = any.
     *
     * @param needed must not end before
     */
    private static void await(Process needed, String portAndPath, Integer... expected) throws InterruptedException {
        int status = 0;
        for (int attempt = 0; attempt < 1_200; attempt++) {
            if (!needed.isAlive()) {
                throw new IllegalStateException("the process has ended with exit code " + needed.exitValue()
                        + ", expected that it serves requests. Its output says why");
            }
            status = status(portAndPath);
            if (expected.length == 0 ? status > 0 : List.of(expected).contains(status)) {
                System.out.println(portAndPath + " " + status);
                return;
            }
            Thread.sleep(100);
        }
        throw new IllegalStateException(portAndPath + " answers " + status + ", expected " + List.of(expected));
    }

    /** Returns -1 while the port is not open. */
    private static int status(String portAndPath) {
        try {
            HttpURLConnection connection = (HttpURLConnection)
                    URI.create("http://127.0.0.1:" + portAndPath).toURL().openConnection();
            connection.setReadTimeout(15_000);
            int status = connection.getResponseCode();
            if (status < 400) {
                try (InputStream body = connection.getInputStream()) {
                    body.readAllBytes();
                }
            }
            return status;
        } catch (IOException e) {
            return -1;
        }
    }
}
