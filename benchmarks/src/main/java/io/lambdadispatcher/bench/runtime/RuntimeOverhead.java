package io.lambdadispatcher.bench.runtime;

import io.lambdadispatcher.bench.load.LoadMain;
import io.lambdadispatcher.core.Dispatcher;
import io.lambdadispatcher.core.options.FunctionOptions;
import io.lambdadispatcher.core.options.ListenerOptions;
import io.lambdadispatcher.worker.WorkerMain;
import java.io.BufferedReader;
import java.io.BufferedWriter;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Compares the latency of {@link WaitingFunction} in the worker's process and behind the worker's
 * Runtime API, where AWS's unmodified runtime client runs it. Both are measured alternately on the
 * same machine, with one and with a hundred requests in flight. Prints a table in Markdown.
 *
 * <p>Each of the hundred requests waits for 100 ms. Without a wait, the result would be the
 * capacity of the machine, not the latency that each request gains.
 *
 * <p>Arguments: seconds of each measurement, rounds.
 */
public final class RuntimeOverhead {
    private static final String SECRET = "a secret of the benchmarks";
    private static final String PATH = System.getProperty("java.class.path");
    private static final String JAVA = java.nio.file.Path.of(System.getProperty("java.home"), "bin", "java")
            .toString();

    private static final String[] LOADS = {
        "connections=1 streams=1 request=1:/wait/0:2", "connections=10 streams=10 request=1:/wait/100:2"
    };
    private static final String[] IN_FLIGHT = {"1", "100"};

    private RuntimeOverhead() {}

    /** A dispatcher in this process, and one worker in a separate process. */
    private record Arrangement(String name, Dispatcher dispatcher, Process worker) implements AutoCloseable {
        static Arrangement start(String name, Map<String, String> variables) throws Exception {
            Dispatcher dispatcher = Dispatcher.builder()
                    .function(FunctionOptions.of("demo"))
                    .publicListener(ListenerOptions.plain("127.0.0.1", 0))
                    .workerListener(ListenerOptions.plain("127.0.0.1", 0))
                    .secret(SECRET)
                    .eventLoops(1)
                    .start();
            ProcessBuilder builder = new ProcessBuilder(JAVA, "-Xmx256m", "-cp", PATH, WorkerMain.class.getName())
                    .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                    .redirectError(ProcessBuilder.Redirect.INHERIT);
            builder.environment()
                    .put(
                            "LAMBDA_DISPATCHER_ADDRESSES",
                            "127.0.0.1:" + dispatcher.workerAddress().getPort());
            builder.environment().put("LAMBDA_DISPATCHER_FUNCTION", "demo");
            builder.environment().put("LAMBDA_DISPATCHER_SECRET", SECRET);
            builder.environment().put("LAMBDA_DISPATCHER_TLS", "false");
            builder.environment().put("LAMBDA_DISPATCHER_CONNECTIONS", "1");
            builder.environment().put("LAMBDA_DISPATCHER_STREAMS", "100");
            builder.environment().put("LAMBDA_DISPATCHER_EXIT_WITH_PARENT", "true");
            builder.environment().putAll(variables);
            Arrangement made = new Arrangement(name, dispatcher, builder.start());
            made.awaitReady();
            return made;
        }

        private void awaitReady() throws InterruptedException {
            long untilNanos = System.nanoTime() + TimeUnit.SECONDS.toNanos(30);
            while (dispatcher.pools().get(0).free() < 100) {
                if (!worker.isAlive() || System.nanoTime() - untilNanos > 0) {
                    throw new IllegalStateException("the worker of '" + name + "' is not ready");
                }
                Thread.sleep(20);
            }
        }

        @Override
        public void close() throws Exception {
            dispatcher.close(Duration.ofSeconds(2)).toCompletableFuture().get(10, TimeUnit.SECONDS);
            worker.destroy();
            if (!worker.waitFor(10, TimeUnit.SECONDS)) {
                worker.destroyForcibly();
            }
        }
    }

    public static void main(String[] args) throws Exception {
        System.setProperty("slf4j.internal.verbosity", "ERROR");
        double seconds = args.length > 0 ? Double.parseDouble(args[0]) : 5;
        int rounds = args.length > 1 ? Integer.parseInt(args[1]) : 2;
        String child = "exec " + JAVA + " -Xmx256m -cp '" + PATH
                + "' com.amazonaws.services.lambda.runtime.api.client.AWSLambda " + WaitingFunction.class.getName();
        try (Arrangement inProcess = Arrangement.start(
                        "in the worker's process",
                        Map.of("LAMBDA_DISPATCHER_HANDLER", WaitingFunction.class.getName()));
                Arrangement runtime = Arrangement.start(
                        "behind the Runtime API",
                        Map.of(
                                "LAMBDA_DISPATCHER_RUNTIME",
                                child,
                                "LAMBDA_DISPATCHER_RUNTIME_CONCURRENCY",
                                "100",
                                "LAMBDA_DISPATCHER_EVENT",
                                "http-api-v2"))) {
            measure(List.of(inProcess, runtime), seconds, rounds);
        }
        System.exit(0);
    }

    private static void measure(List<Arrangement> arrangements, double seconds, int rounds) throws IOException {
        Process load = new ProcessBuilder(JAVA, "-cp", PATH, LoadMain.class.getName())
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .start();
        try (BufferedWriter orders = load.outputWriter();
                BufferedReader reports = load.inputReader()) {
            System.out.println(
                    "| in flight | p50 ms in process | p50 ms behind the Runtime API | added | p99 ms | p99 ms | added |");
            System.out.println("| --- | --- | --- | --- | --- | --- | --- |");
            for (int i = 0; i < LOADS.length; i++) {
                double[][] best = new double[arrangements.size()][];
                for (int round = 0; round <= rounds; round++) {
                    for (int which = 0; which < best.length; which++) {
                        double[] found = run(orders, reports, arrangements.get(which), LOADS[i], seconds);
                        // The first round is only for warm-up.
                        best[which] = round == 0 ? new double[] {found[0], found[1]} : lower(best[which], found, round);
                    }
                }
                print(IN_FLIGHT[i], best);
            }
        } finally {
            load.destroy();
        }
    }

    private static double[] lower(double[] best, double[] found, int round) {
        return round == 1 ? found : new double[] {Math.min(best[0], found[0]), Math.min(best[1], found[1])};
    }

    private static double[] run(
            BufferedWriter orders, BufferedReader reports, Arrangement where, String load, double seconds)
            throws IOException {
        int port = where.dispatcher().publicAddresses().get(0).getPort();
        orders.write("port=" + port + " warm=1 seconds=" + seconds + " " + load + "\n");
        orders.flush();
        String report = reports.readLine();
        if (report == null || !report.contains("\"errors\":0")) {
            throw new IllegalStateException("load on '" + where.name() + "': " + report);
        }
        return new double[] {percentile(report, "p50"), percentile(report, "p99")};
    }

    private static double percentile(String report, String key) {
        Matcher found = Pattern.compile("\"" + key + "\":([0-9.]+)").matcher(report);
        if (!found.find()) {
            throw new IllegalStateException("no " + key + " in " + report);
        }
        return Double.parseDouble(found.group(1));
    }

    private static void print(String inFlight, double[][] best) {
        System.out.println(String.format(
                Locale.ROOT,
                "| %s | %.2f | %.2f | %.2f | %.2f | %.2f | %.2f |",
                inFlight,
                best[0][0],
                best[1][0],
                best[1][0] - best[0][0],
                best[0][1],
                best[1][1],
                best[1][1] - best[0][1]));
    }
}
