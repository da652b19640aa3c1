import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.net.HttpURLConnection;
import java.net.InetSocketAddress;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * The program that LocalStack starts in a function's container. It replaces LocalStack's own, which
 * would be downloaded at run time. It serves the Lambda Runtime API to the function's bootstrap,
 * accepts invokes from LocalStack on port 9563, and sends logs and results back. A timeout kills
 * the runtime, and the next invoke starts a new one. Extensions, telemetry and X-Ray are not
 * supported.
 */
public final class LocalStackInit {
    private static final int INVOKE_PORT = 9563;
    private static final int RUNTIME_API_PORT = 9001;
    private static final List<String> BOOTSTRAPS =
            List.of("/var/runtime/bootstrap", "/var/task/bootstrap", "/opt/bootstrap");

    private static final String RUNTIME_ID = environment("LOCALSTACK_RUNTIME_ID", "");
    private static final String LOCALSTACK = environment("LOCALSTACK_RUNTIME_ENDPOINT", "");
    private static final String VERSION = environment("AWS_LAMBDA_FUNCTION_VERSION", "$LATEST");
    private static final int TIMEOUT_SECONDS = Integer.parseInt(environment("AWS_LAMBDA_FUNCTION_TIMEOUT", "3"));
    private static final int MAX_RESPONSE_BYTES =
            Integer.parseInt(environment("LOCALSTACK_MAX_PAYLOAD_SIZE", "6291556"));

    /** One invoke, from LocalStack's call until LocalStack has the result. */
    private static final class Invoke {
        final String id;
        final String arn;
        final String trace;
        final byte[] payload;
        final long startMillis = System.currentTimeMillis();
        final StringBuffer log = new StringBuffer();
        final AtomicBoolean answered = new AtomicBoolean();

        Invoke(Map<String, String> fields) {
            id = fields.get("invoke-id");
            arn = fields.get("invoked-function-arn");
            trace = fields.get("trace-id");
            payload = fields.getOrDefault("payload", "").getBytes(StandardCharsets.UTF_8);
            log.append("START RequestId: ").append(id).append(" Version: ").append(VERSION).append('\n');
        }

        long deadlineMillis() {
            return startMillis + TIMEOUT_SECONDS * 1000L;
        }
    }

    private final LinkedBlockingQueue<Invoke> waiting = new LinkedBlockingQueue<>();
    private final Map<String, Invoke> underWay = new ConcurrentHashMap<>();
    private final ScheduledExecutorService timer = Executors.newSingleThreadScheduledExecutor(LocalStackInit::daemon);
    private final AtomicBoolean ready = new AtomicBoolean();
    private final AtomicBoolean startFailed = new AtomicBoolean();
    private Process runtime;

    public static void main(String[] arguments) throws Exception {
        LocalStackInit init = new LocalStackInit();
        ExecutorService threads = Executors.newCachedThreadPool();
        serve(new InetSocketAddress("127.0.0.1", RUNTIME_API_PORT), threads, init::onRuntimeCall);
        serve(new InetSocketAddress("0.0.0.0", INVOKE_PORT), threads, init::onInvoke);
        Runtime.getRuntime().addShutdownHook(new Thread(init::killRuntime));
        init.startRuntime();
        Thread.currentThread().join();
    }

    private static void serve(InetSocketAddress address, ExecutorService threads, com.sun.net.httpserver.HttpHandler to)
            throws IOException {
        HttpServer server = HttpServer.create(address, 64);
        server.setExecutor(threads);
        server.createContext("/", to);
        server.start();
    }

    private static Thread daemon(Runnable task) {
        Thread thread = new Thread(task);
        thread.setDaemon(true);
        return thread;
    }

    // The runtime process.

    private synchronized void startRuntime() throws IOException {
        String bootstrap = BOOTSTRAPS.stream()
                .filter(path -> new File(path).canExecute())
                .findFirst()
                .orElse(null);
        if (bootstrap == null) {
            failStart("Runtime.InvalidEntrypoint", "no bootstrap among " + BOOTSTRAPS);
            return;
        }
        ProcessBuilder builder =
                new ProcessBuilder(bootstrap).directory(new File("/var/task")).redirectErrorStream(true);
        builder.environment().keySet().removeIf(name -> name.startsWith("LOCALSTACK_"));
        builder.environment().put("AWS_LAMBDA_RUNTIME_API", "127.0.0.1:" + RUNTIME_API_PORT);
        Process started = builder.start();
        runtime = started;
        daemon(() -> follow(started)).start();
    }

    private void follow(Process started) {
        byte[] buffer = new byte[8192];
        try (InputStream output = started.getInputStream()) {
            for (int bytes = output.read(buffer); bytes > 0; bytes = output.read(buffer)) {
                System.out.write(buffer, 0, bytes);
                System.out.flush();
                String text = new String(buffer, 0, bytes, StandardCharsets.UTF_8);
                underWay.values().forEach(invoke -> invoke.log.append(text));
            }
        } catch (IOException e) {
            // The runtime has been killed.
        }
        onRuntimeExit(started, started.onExit().join().exitValue());
    }

    private synchronized void onRuntimeExit(Process ended, int code) {
        if (ended != runtime) {
            return; // killed on purpose
        }
        runtime = null;
        String message = "Runtime exited " + (code == 0 ? "without providing a reason" : "with error: exit status " + code);
        if (ready.get()) {
            List.copyOf(underWay.values())
                    .forEach(invoke -> answer(
                            invoke, "error", error("Runtime.ExitError", "RequestId: " + invoke.id + " Error: " + message)));
        } else {
            failStart("Runtime.ExitError", message);
        }
    }

    private synchronized void killRuntime() {
        Process killed = runtime;
        runtime = null;
        if (killed != null) {
            killed.destroyForcibly();
        }
    }

    private void failStart(String type, String message) {
        reportStartError(error(type, message));
    }

    private void reportStartError(byte[] error) {
        if (startFailed.compareAndSet(false, true)) {
            tellLocalStack("/status/" + RUNTIME_ID + "/error", error);
        }
    }

    // Calls from and to LocalStack.

    private void onInvoke(HttpExchange exchange) throws IOException {
        Invoke invoke = new Invoke(FlatJson.read(text(exchange)));
        underWay.put(invoke.id, invoke);
        synchronized (this) {
            if (runtime == null) {
                startRuntime();
            }
        }
        timer.schedule(() -> onTimeout(invoke), TIMEOUT_SECONDS, TimeUnit.SECONDS);
        waiting.add(invoke);
        send(exchange, 200, "");
    }

    private void onTimeout(Invoke invoke) {
        if (!invoke.answered.get()) {
            killRuntime();
            waiting.remove(invoke);
            String message = String.format(
                    Locale.ROOT,
                    "RequestId: %s Error: Task timed out after %.2f seconds",
                    invoke.id,
                    (double) TIMEOUT_SECONDS);
            answer(invoke, "error", error("Sandbox.Timedout", message));
        }
    }

    private void answer(Invoke invoke, String kind, byte[] body) {
        if (!invoke.answered.compareAndSet(false, true)) {
            return;
        }
        underWay.remove(invoke.id);
        long millis = System.currentTimeMillis() - invoke.startMillis;
        invoke.log.append("END RequestId: ").append(invoke.id).append("\nREPORT RequestId: ").append(invoke.id);
        invoke.log.append("\tDuration: ").append(millis).append(" ms\n");
        String logs = "{\"logs\":" + FlatJson.quote(invoke.log.toString()) + "}";
        tellLocalStack("/invocations/" + invoke.id + "/logs", logs.getBytes(StandardCharsets.UTF_8));
        tellLocalStack("/invocations/" + invoke.id + "/" + kind, body);
    }

    private static void tellLocalStack(String path, byte[] body) {
        try {
            HttpURLConnection connection =
                    (HttpURLConnection) URI.create(LOCALSTACK + path).toURL().openConnection();
            connection.setRequestMethod("POST");
            connection.setDoOutput(true);
            connection.setFixedLengthStreamingMode(body.length);
            connection.setRequestProperty("Content-Type", "application/json");
            connection.getOutputStream().write(body);
            connection.getOutputStream().close();
            boolean failed = connection.getResponseCode() >= 400;
            try (InputStream response = failed ? connection.getErrorStream() : connection.getInputStream()) {
                if (response != null) {
                    response.readAllBytes();
                }
            }
        } catch (IOException e) {
            System.err.println("init: POST " + path + ": " + e);
        }
    }

    // The Runtime API.

    private void onRuntimeCall(HttpExchange exchange) throws IOException {
        String path = exchange.getRequestURI().getPath();
        if (path.endsWith("/invocation/next")) {
            onNext(exchange);
            return;
        }
        byte[] body = exchange.getRequestBody().readAllBytes();
        if (path.endsWith("/init/error")) {
            reportStartError(body);
            send(exchange, 202, "{\"status\":\"OK\"}");
            return;
        }
        String[] parts = path.split("/");
        Invoke invoke = parts.length < 2 ? null : underWay.get(parts[parts.length - 2]);
        if (invoke == null) {
            send(exchange, 400, "{\"errorType\":\"InvalidRequestID\",\"errorMessage\":\"Invalid request ID\"}");
            return;
        }
        send(exchange, 202, "{\"status\":\"OK\"}");
        onResult(invoke, path.endsWith("/error"), body);
    }

    private void onResult(Invoke invoke, boolean failed, byte[] body) {
        if (failed) {
            answer(invoke, "error", body);
        } else if (body.length > MAX_RESPONSE_BYTES) {
            String message = "Response payload size exceeded maximum allowed payload size (" + MAX_RESPONSE_BYTES + " bytes).";
            answer(invoke, "error", error("Function.ResponseSizeTooLarge", message));
        } else {
            answer(invoke, "response", body);
        }
    }

    private void onNext(HttpExchange exchange) throws IOException {
        if (ready.compareAndSet(false, true)) {
            tellLocalStack("/status/" + RUNTIME_ID + "/ready", new byte[0]);
        }
        Invoke invoke;
        try {
            invoke = waiting.take();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return;
        }
        exchange.getResponseHeaders().set("Content-Type", "application/json");
        exchange.getResponseHeaders().set("Lambda-Runtime-Aws-Request-Id", invoke.id);
        exchange.getResponseHeaders().set("Lambda-Runtime-Deadline-Ms", Long.toString(invoke.deadlineMillis()));
        exchange.getResponseHeaders().set("Lambda-Runtime-Invoked-Function-Arn", invoke.arn);
        if (invoke.trace != null) {
            exchange.getResponseHeaders().set("Lambda-Runtime-Trace-Id", invoke.trace);
        }
        send(exchange, 200, invoke.payload);
    }

    private static String text(HttpExchange exchange) throws IOException {
        return new String(exchange.getRequestBody().readAllBytes(), StandardCharsets.UTF_8);
    }

    private static void send(HttpExchange exchange, int status, String body) throws IOException {
        send(exchange, status, body.getBytes(StandardCharsets.UTF_8));
    }

    private static void send(HttpExchange exchange, int status, byte[] body) throws IOException {
        exchange.sendResponseHeaders(status, body.length == 0 ? -1 : body.length);
        if (body.length > 0) {
            exchange.getResponseBody().write(body);
        }
        exchange.close();
    }

    private static byte[] error(String type, String message) {
        return ("{\"errorType\":" + FlatJson.quote(type) + ",\"errorMessage\":" + FlatJson.quote(message) + "}")
                .getBytes(StandardCharsets.UTF_8);
    }

    private static String environment(String name, String otherwise) {
        String value = System.getenv(name);
        return value == null || value.isEmpty() ? otherwise : value;
    }

    /** Reads and writes one JSON object of strings, because the class path has no JSON library. */
    private static final class FlatJson {
        private final String json;
        private int at;

        private FlatJson(String json) {
            this.json = json;
        }

        static Map<String, String> read(String json) {
            FlatJson reader = new FlatJson(json);
            Map<String, String> fields = new HashMap<>();
            for (String name = reader.nextString(); name != null; name = reader.nextString()) {
                reader.at = json.indexOf(':', reader.at) + 1;
                while (Character.isWhitespace(json.charAt(reader.at))) {
                    reader.at++;
                }
                if (json.charAt(reader.at) == '"') {
                    fields.put(name, reader.nextString());
                }
            }
            return fields;
        }

        private String nextString() {
            int start = json.indexOf('"', at);
            if (start < 0) {
                return null;
            }
            StringBuilder text = new StringBuilder();
            for (at = start + 1; json.charAt(at) != '"'; at++) {
                text.append(json.charAt(at) == '\\' ? escaped() : json.charAt(at));
            }
            at++;
            return text.toString();
        }

        private char escaped() {
            char c = json.charAt(++at);
            switch (c) {
                case 'n':
                    return '\n';
                case 't':
                    return '\t';
                case 'r':
                    return '\r';
                case 'b':
                    return '\b';
                case 'f':
                    return '\f';
                case 'u':
                    at += 4;
                    return (char) Integer.parseInt(json.substring(at - 3, at + 1), 16);
                default:
                    return c;
            }
        }

        static String quote(String text) {
            StringBuilder json = new StringBuilder("\"");
            for (char c : text.toCharArray()) {
                if (c == '"' || c == '\\') {
                    json.append('\\').append(c);
                } else if (c < ' ') {
                    json.append(String.format("\\u%04x", (int) c));
                } else {
                    json.append(c);
                }
            }
            return json.append('"').toString();
        }
    }
}
