import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.HttpURLConnection;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;

/**
 * Runs the program of an image once, while the image is built. The classes that it loads are stored
 * in a cache (JEP 514), from which later starts read them.
 */
public final class Train {
    private static final String HOME = "/opt/lambda-dispatcher";
    private static final String JAVA = HOME + "/java/bin/java";
    private static final String SECRET = "only while the image is built, no worker accepts it";
    private static final String READY = "9901/ready";
    private static final String PUBLIC = "8080/";
    private static final int REQUESTS = 20;

    private Train() {}

    /**
     * @param arguments {@code serve} for the dispatcher, or {@code work} and the class path of the
     *     dispatcher that launches the worker
     */
    public static void main(String[] arguments) {
        try {
            if (arguments[0].equals("serve")) {
                serve();
            } else {
                work(arguments[1]);
            }
        } catch (Exception e) {
            e.printStackTrace();
            ProcessHandle.current().children().forEach(ProcessHandle::destroyForcibly);
            System.exit(1);
        }
    }

    /** There are no workers, so requests are answered with 503 almost immediately. */
    private static void serve() throws Exception {
        Process server = start(
                List.of(JAVA, "@" + HOME + "/server.flags", cacheOutput(), classPath(), "io.lambdadispatcher.server.Main", "serve"),
                Map.of(
                        "LAMBDA_DISPATCHER_WORKERS_SECRET", SECRET,
                        "LAMBDA_DISPATCHER_FUNCTION_QUEUE_TIMEOUT", "1ms",
                        "LAMBDA_DISPATCHER_SHUTDOWN_DELAY", "0"));
        for (String path : List.of(READY, "9901/metrics", PUBLIC, PUBLIC)) {
            await(path, 200, 503);
        }
        end(server);
    }

    /** Does what Lambda does: starts the function, and invokes it once. */
    private static void work(String dispatcherClassPath) throws Exception {
        Process dispatcher = start(
                List.of(JAVA, "-cp", dispatcherClassPath, "io.lambdadispatcher.server.Main", "serve"),
                Map.of(
                        "LAMBDA_DISPATCHER_WORKERS_SECRET", SECRET,
                        "LAMBDA_DISPATCHER_FUNCTION_NAME", "f",
                        "LAMBDA_DISPATCHER_SHUTDOWN_DELAY", "0"));
        await(READY, 503);
        CompletableFuture<String> summary = new CompletableFuture<>();
        HttpServer lambda = runtimeApi(
                "{\"function\":\"f\",\"workerId\":\"w\",\"secret\":\"" + SECRET + "\",\"addresses\":[\"127.0.0.1:8444\"],\"loneTimeoutMillis\":3000}",
                summary);
        Process worker = start(
                List.of(
                        JAVA,
                        "@" + HOME + "/worker.flags",
                        cacheOutput(),
                        classPath(),
                        "com.amazonaws.services.lambda.runtime.api.client.AWSLambda",
                        "io.lambdadispatcher.worker.LambdaHandler"),
                Map.of(
                        "AWS_LAMBDA_RUNTIME_API",
                        "127.0.0.1:" + lambda.getAddress().getPort(),
                        "LAMBDA_TASK_ROOT",
                        "/var/task",
                        "LAMBDA_DISPATCHER_HANDLER",
                        "com.example.hello.HelloHandler"));
        await(READY, 200);
        for (int i = 0; i < REQUESTS; i++) {
            await(PUBLIC, 200);
        }
        // The dispatcher drains its worker. Its invocation returns, because no dispatcher is left.
        end(dispatcher);
        System.out.println("the invocation returned " + summary.get(1, TimeUnit.MINUTES));
        end(worker);
        lambda.stop(0);
    }

    /**
     * Starts a Runtime API (AWS Lambda developer guide, "Using the Lambda runtime API") with one
     * invocation. The runtime waits for the next one until it is ended.
     */
    private static HttpServer runtimeApi(String event, CompletableFuture<String> response) throws IOException {
        HttpServer server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        server.setExecutor(Executors.newCachedThreadPool(task -> {
            Thread thread = new Thread(task);
            thread.setDaemon(true);
            return thread;
        }));
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
        server.start();
        return server;
    }

    private static void answer(HttpExchange exchange, int status, String body) throws IOException {
        byte[] bytes = body.getBytes(StandardCharsets.UTF_8);
        exchange.sendResponseHeaders(status, bytes.length);
        try (OutputStream out = exchange.getResponseBody()) {
            out.write(bytes);
        }
    }

    private static String cacheOutput() {
        return "-XX:AOTCacheOutput=" + HOME + "/classes.aot";
    }

    private static String classPath() {
        return "@" + HOME + "/class.path";
    }

    private static Process start(List<String> command, Map<String, String> variables) throws IOException {
        ProcessBuilder builder = new ProcessBuilder(command).inheritIO();
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

    /** Waits until this path of the dispatcher answers with one of these statuses. */
    private static void await(String portAndPath, Integer... expected) throws InterruptedException {
        int status = 0;
        for (int attempt = 0; attempt < 300; attempt++) {
            status = status(portAndPath);
            if (List.of(expected).contains(status)) {
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
