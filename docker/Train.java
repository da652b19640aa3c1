import java.io.IOException;
import java.io.InputStream;
import java.net.HttpURLConnection;
import java.net.URI;
import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * Runs the program of an image once, while the image is built. The classes that it loads are stored
 * in a cache (JEP 514), from which later starts read them.
 */
public final class Train {
    private static final String HOME = "/opt/lambda-dispatcher";
    private static final String SECRET = "only while the image is built";

    public static void main(String[] arguments) throws Exception {
        Process process;
        if (arguments[0].equals("serve")) {
            process = start("server.flags", "io.lambdadispatcher.server.Main", "serve");
            for (String path : List.of("9901/ready", "9901/metrics", "8080/", "8080/")) {
                System.out.println(path + " " + status(path));
            }
            process.destroy();
        } else {
            // The worker cannot connect, so it exits.
            process = start("worker.flags", "io.lambdadispatcher.worker.WorkerMain");
        }
        if (!process.waitFor(2, TimeUnit.MINUTES)) {
            throw new IllegalStateException("it does not end");
        }
        System.out.println("exit code " + process.exitValue());
    }

    private static Process start(String flags, String... program) throws IOException {
        ProcessBuilder builder = new ProcessBuilder(
                        HOME + "/java/bin/java",
                        "@" + HOME + "/" + flags,
                        "-XX:AOTCacheOutput=" + HOME + "/classes.aot",
                        "@" + HOME + "/class.path")
                .inheritIO();
        builder.command().addAll(List.of(program));
        builder.environment().put("LAMBDA_DISPATCHER_WORKERS_SECRET", SECRET);
        // There are no workers: requests are answered with 503 almost immediately.
        builder.environment().put("LAMBDA_DISPATCHER_FUNCTION_QUEUE_TIMEOUT", "1ms");
        builder.environment().put("LAMBDA_DISPATCHER_HANDLER", "com.example.hello.HelloHandler");
        builder.environment()
                .put(
                        "LAMBDA_DISPATCHER_PAYLOAD",
                        "{\"function\":\"f\",\"workerId\":\"w\",\"secret\":\"" + SECRET
                                + "\",\"addresses\":[\"127.0.0.1:1\"],\"loneTimeoutMillis\":1000}");
        if (program.length > 1) {
            // The server would reject these variables, because they are not settings.
            builder.environment().keySet().removeIf(name -> name.endsWith("_HANDLER") || name.endsWith("_PAYLOAD"));
        }
        return builder.start();
    }

    private static int status(String portAndPath) throws InterruptedException {
        for (int attempt = 0; attempt < 100; attempt++) {
            try {
                HttpURLConnection connection = (HttpURLConnection)
                        URI.create("http://127.0.0.1:" + portAndPath).toURL().openConnection();
                connection.setReadTimeout(1000);
                int status = connection.getResponseCode();
                if (status < 400) {
                    try (InputStream body = connection.getInputStream()) {
                        body.readAllBytes();
                    }
                }
                return status;
            } catch (IOException e) {
                // The ports are not open yet, or there is no answer. Both are no failure here.
                Thread.sleep(100);
            }
        }
        return -1;
    }
}
