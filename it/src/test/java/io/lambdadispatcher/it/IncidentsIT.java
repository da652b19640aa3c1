package io.lambdadispatcher.it;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.spi.ILoggingEvent;
import io.lambdadispatcher.core.observe.Incident.Kind;
import io.lambdadispatcher.core.options.CapacityPolicy;
import io.lambdadispatcher.core.options.FunctionOptions;
import io.lambdadispatcher.core.options.HttpLimits;
import io.lambdadispatcher.core.spi.Ledger;
import io.lambdadispatcher.core.spi.RouteTarget;
import io.lambdadispatcher.core.spi.WorkerLauncher.Cause;
import io.lambdadispatcher.core.spi.WorkerLauncher.WorkerExit;
import io.lambdadispatcher.core.testkit.CutLedger;
import io.lambdadispatcher.core.testkit.RecordingLauncher;
import io.lambdadispatcher.micrometer.DispatcherMetrics;
import io.lambdadispatcher.wire.testkit.Await;
import io.lambdadispatcher.wire.testkit.LoggedLines;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * What an operator sees of each incident: the line of the log when it begins and the one when it
 * ends, both at WARN, the metric, and an alert that names the words of the log. All incidents are
 * caused first, and their causes end then, so that the test waits only once for their ends.
 */
@Timeout(value = 5, unit = TimeUnit.MINUTES)
class IncidentsIT {
    private static final Duration MOST_WAIT = Duration.ofSeconds(60);
    private static final int MAX_CONNECTIONS = 40;
    private static final long BLOCKED_NANOS = TimeUnit.MILLISECONDS.toNanos(600);

    /** Longer than the rule RequestsWait permits. */
    private static final long LONG_WAIT_NANOS = TimeUnit.MILLISECONDS.toNanos(600);

    private static final LoggedLines log =
            LoggedLines.of("io.lambdadispatcher.core.internal.loop.Incidents", Level.WARN);

    /** Lines of the dispatcher, and of the workers in this JVM. */
    private static final LoggedLines all = LoggedLines.of("io.lambdadispatcher", Level.INFO);

    private static final PrometheusMeterRegistry metrics = new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);

    /** All lines of the metrics so far. */
    private static final Set<String> scraped = new HashSet<>();

    private static final CutLedger ledger = new CutLedger(Ledger.inMemory());
    private static final List<Process> failing = new ArrayList<>();

    /** Its workers fail immediately, and have version 7. */
    private static final RecordingLauncher launcher =
            new RecordingLauncher(worker -> worker.exit().complete(new WorkerExit(Cause.FAILED, "exit status 1")));

    private static Rig rig;

    @BeforeAll
    static void begin() throws Exception {
        launcher.version = "7";
        DispatcherMetrics observer = new DispatcherMetrics(metrics);
        rig = Rig.start(
                Rig.function().queue(10, MOST_WAIT).build(),
                observer,
                builder -> builder.eventLoops(1)
                        .limits(HttpLimits.builder()
                                .maxConnections(MAX_CONNECTIONS)
                                .build())
                        .function(FunctionOptions.builder("busy")
                                .queue(0, Duration.ofSeconds(1))
                                .build())
                        .function(FunctionOptions.builder("launched")
                                .capacity(CapacityPolicy.fixed(1))
                                .build())
                        .function(FunctionOptions.builder("paused")
                                .capacity(CapacityPolicy.between(0, 1))
                                .build())
                        .function(FunctionOptions.builder("versions")
                                .capacity(CapacityPolicy.between(0, 1))
                                .build())
                        .launcher("launched", launcher)
                        .launcher("versions", launcher)
                        .launcher("paused", launcher)
                        .ledger(ledger)
                        .router(head -> {
                            String path = head.path().toString();
                            if (path.startsWith("/late")) {
                                // Makes the event loop late, which is the incident.
                                LockSupport.parkNanos(BLOCKED_NANOS);
                            }
                            return RouteTarget.of(path.startsWith("/busy") ? "busy" : "demo");
                        }));
        observer.watch(rig.dispatcher);
        for (Kind kind : Kind.values()) {
            cause(kind);
            Await.until(kind + " begins", MOST_WAIT, () -> has("incident begins: ", kind));
            // The log is told first.
            Await.until(kind + " is counted", MOST_WAIT, () -> {
                scrape();
                return wasCounted(kind);
            });
        }
        ledger.setCutOff(false);
        rig.dispatcher.setLaunching("paused", true);
        rig.dispatcher
                .change()
                .function(FunctionOptions.builder("launched")
                        .capacity(CapacityPolicy.NONE)
                        .build())
                .apply();
        for (Process worker : failing) {
            // They drain. A lost worker would begin another incident if the first one has ended.
            worker.destroy();
            worker.waitFor();
        }
    }

    @AfterAll
    static void end() throws Exception {
        rig.close();
        log.close();
        all.close();
    }

    /** Makes the incident begin. A new kind needs a case here. */
    private static void cause(Kind kind) throws Exception {
        switch (kind) {
            case REQUESTS_REFUSED -> get("/busy");
            case REQUESTS_FAILED -> {
                List<Process> worker = new ArrayList<>();
                exchange("GET", "/ping", () -> {
                    // Metrics of the pool can be 0.5 s old.
                    Await.until("the metric says that the request waits", () -> {
                        scrape();
                        return scraped.contains("lambda_dispatcher_requests_queued{function=\"demo\"} 1.0");
                    });
                    Await.nanoTime(System.nanoTime() + LONG_WAIT_NANOS);
                    worker.add(rig.process(1, 4, Rig.DEMO));
                });
                rig.awaitAllFree();
                exchange("POST", "/silent", () -> {
                    Await.until("the worker has the request", () -> rig.pool().free() < 4);
                    worker.get(0).destroyForcibly();
                });
                Await.until("the worker is lost", MOST_WAIT, () -> has("incident begins: ", Kind.WORKERS_LOST));
            }
            case CONNECTIONS_REFUSED -> {
                List<Socket> sockets = new ArrayList<>();
                for (int i = 0; i <= MAX_CONNECTIONS; i++) {
                    sockets.add(new Socket(InetAddress.getLoopbackAddress(), rig.plainPort()));
                }
                Await.until("one is refused", MOST_WAIT, () -> has("incident begins: ", kind));
                for (Socket socket : sockets) {
                    socket.close();
                }
            }
            case WORKERS_EJECTED -> {
                rig.worker(1, 4);
                rig.worker(1, 4);
                failing.add(rig.process(1, 4, Map.of("LAMBDA_DISPATCHER_HANDLER", FailingHandler.class.getName())));
                Await.until("a worker is ejected", MOST_WAIT, () -> {
                    get("/ping");
                    return has("incident begins: ", kind);
                });
            }
            case WORKERS_LOST -> {} // That was so when a request failed.
            case WORKERS_REJECTED -> {
                try (Socket socket = new Socket(
                        InetAddress.getLoopbackAddress(),
                        rig.dispatcher.workerAddress().getPort())) {
                    socket.getOutputStream().write("GET / HTTP/1.1\r\n\r\n".getBytes(StandardCharsets.US_ASCII));
                    socket.getInputStream().readAllBytes();
                } catch (IOException e) {
                    // The dispatcher has reset the connection.
                }
            }
            case LAUNCHES_FAILED -> {} // They fail from the start.
            case LAUNCHES_BLOCKED -> rig.dispatcher.setLaunching("paused", false);
            case VERSIONS_DIFFER ->
                failing.add(rig.launch(
                        1,
                        4,
                        Map.of(
                                "LAMBDA_DISPATCHER_HANDLER", FailingHandler.class.getName(),
                                "LAMBDA_DISPATCHER_FUNCTION", "versions",
                                "AWS_LAMBDA_FUNCTION_VERSION", "8")));
            case LEDGER_UNREACHABLE -> ledger.setCutOff(true);
            case DISPATCHER_SHORT ->
                Await.until("the event loop is late", MOST_WAIT, () -> {
                    get("/late");
                    return has("incident begins: ", kind);
                });
        }
    }

    private static void get(String path) {
        exchange("GET", path, () -> {});
    }

    /**
     * Sends a request from a client, and does not mind how it ends.
     *
     * @param meanwhile is done before the response is read
     */
    private static void exchange(String method, String path, Runnable meanwhile) {
        String head = method + " " + path + " HTTP/1.1\r\nhost: a\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
        try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), rig.plainPort())) {
            socket.setSoTimeout((int) MOST_WAIT.toMillis());
            socket.getOutputStream().write(head.getBytes(StandardCharsets.US_ASCII));
            meanwhile.run();
            socket.getInputStream().readAllBytes();
        } catch (IOException e) {
            // The dispatcher has closed the connection.
        }
    }

    /** Returns whether the log has a line about an incident of this kind. */
    private static boolean has(String begin, Kind kind) {
        return lines().stream().anyMatch(line -> line.startsWith(begin + words(kind)));
    }

    /** Returns the words of the log for the incident of a kind that this test causes. */
    private static String words(Kind kind) {
        String code = switch (kind) {
            case REQUESTS_REFUSED -> "queue_full";
            case REQUESTS_FAILED -> "worker_lost";
            case CONNECTIONS_REFUSED -> "connection_limit";
            case WORKERS_REJECTED -> "stranger";
            case LAUNCHES_FAILED -> "failed";
            case DISPATCHER_SHORT -> "processor time";
            case WORKERS_EJECTED, WORKERS_LOST, LAUNCHES_BLOCKED, VERSIONS_DIFFER, LEDGER_UNREACHABLE -> "";
        };
        return kind.headline(function(kind), code);
    }

    /** Returns the function whose incident of a kind this test causes; empty = it has none. */
    private static String function(Kind kind) {
        return switch (kind) {
            case REQUESTS_REFUSED -> "busy";
            case REQUESTS_FAILED, WORKERS_EJECTED, WORKERS_LOST -> "demo";
            case LAUNCHES_FAILED -> "launched";
            case LAUNCHES_BLOCKED -> "paused";
            case VERSIONS_DIFFER -> "versions";
            case CONNECTIONS_REFUSED, WORKERS_REJECTED, LEDGER_UNREACHABLE, DISPATCHER_SHORT -> "";
        };
    }

    private static void scrape() {
        metrics.scrape().lines().forEach(scraped::add);
    }

    private static List<String> lines() {
        return log.events().stream()
                .filter(line -> line.getLevel() == Level.WARN)
                .map(ILoggingEvent::getFormattedMessage)
                .toList();
    }

    /**
     * Returns whether the metric has said that an incident of the kind begins. On a slow machine,
     * it is over when others begin.
     */
    private static boolean wasCounted(Kind kind) {
        String metric = String.format(
                Locale.ROOT,
                "lambda_dispatcher_incidents{function=\"%s\",kind=\"%s\"} ",
                function(kind).isEmpty() ? "none" : function(kind),
                kind.name().toLowerCase(Locale.ROOT));
        return scraped.stream().anyMatch(line -> line.startsWith(metric) && !line.endsWith(" 0.0"));
    }

    /** Returns how many incidents of the kind go on, as the metric says. */
    private static double open(Kind kind) {
        return metrics.getMeters().stream()
                .filter(meter -> meter.getId().getName().endsWith("incidents"))
                .filter(meter -> kind.name()
                        .toLowerCase(Locale.ROOT)
                        .equals(meter.getId().getTag("kind")))
                .filter(meter -> function(kind).isEmpty()
                        || function(kind).equals(meter.getId().getTag("function")))
                .mapToDouble(meter -> ((Gauge) meter).value())
                .sum();
    }

    @ParameterizedTest
    @EnumSource(Kind.class)
    void should_tell_when_it_begins_and_ends(Kind kind) {
        Await.until(kind + " ends", MOST_WAIT, () -> has("incident ends: ", kind));
        Await.until(kind + " is not counted any more", MOST_WAIT, () -> open(kind) == 0);
        assertThat(lines())
                .filteredOn(line -> line.startsWith("incident begins: " + words(kind)))
                .hasSize(1);
        assertThat(lines())
                .filteredOn(line -> line.startsWith("incident ends: " + words(kind)))
                .hasSize(1);
    }

    /** What the rules of {@code alerts.yaml} look for. */
    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '`',
            value = {
                "RequestsFail              | request_failures_total{failure=\"queue_full\",function=\"busy\"} [1-9].*",
                "RequestsFail              | requests_total{function=\"busy\",outcome=\"failed\",status=\"5xx\"} [1-9].*",
                "HandlersFail              | requests_total{function=\"demo\",outcome=\"completed\",status=\"5xx\"} [1-9].*",
                "RequestsWait              | `request_queue_seconds_max{function=\"demo\"} (0\\.[5-9]|[1-9][0-9]*\\.)[0-9]*`",
                "TooFewWorkers             | workers_desired{function=\"launched\"} 1.0",
                "TooFewWorkers             | workers_ready{function=\"launched\"} 0.0",
                "TooFewWorkers             | workers_ready_base{function=\"launched\"} 0.0",
                "LaunchesBlocked           | launches_blocked{function=\"paused\"} 1.0",
                "LaunchesBlocked           | requests_queued{function=\"demo\"} 1.0",
                "VersionsDiffer            | incidents{function=\"versions\",kind=\"versions_differ\"} [1-9].*",
                "LaunchesFail              | launches_ended_total{function=\"launched\",result=\"failed\"} [1-9].*",
                "WorkersLost               | worker_connections_closed_total{end=\"lost\",function=\"demo\"} [1-9].*",
                "WorkersEjected            | workers_ejected{function=\"demo\"} 1.0",
                "WorkerConnectionsRejected | worker_rejections_total [1-9].*",
                "DispatcherShort           | incidents{function=\"none\",kind=\"dispatcher_short\"} [1-9].*",
                "ConnectionsRefused        | incidents{function=\"none\",kind=\"connections_refused\"} [1-9].*",
            })
    void should_show_in_the_metrics_what_an_alert_looks_for(String alert, String line) {
        Pattern wanted =
                Pattern.compile("lambda_dispatcher_" + line.replace("{", "\\{").replace("}", "\\}"));
        assertThat(scraped).as(alert).anyMatch(wanted.asMatchPredicate());
    }

    /** Records, durations and constants are for programs. */
    @Test
    void should_have_no_names_of_java_in_the_log() {
        Pattern java = Pattern.compile("\\bPT\\d|\\w\\[\\w+="
                + "|\\b(LOST|ENDED|FAILED|NOT_READY|DEADLINE|SCALE_IN|IDLE|REQUESTED|SHUTDOWN|LEAVING)\\b");
        // Lines of incidents are among those of their own logger only.
        assertThat(Stream.concat(all.events().stream(), log.events().stream()))
                .extracting(ILoggingEvent::getFormattedMessage)
                .anyMatch(line -> line.contains(" is draining: ") || line.contains(" is ready"))
                .noneMatch(java.asPredicate());
    }

    /** Operators read in the line which worker is ejected, and why. */
    @Test
    void should_compare_the_ejected_worker_with_the_others() {
        assertThat(lines())
                .filteredOn(line -> line.startsWith("incident begins: workers of function demo are ejected: "))
                .singleElement()
                .asString()
                .matches(".*: \\d+ of its \\d+ requests failed, and \\d+ of \\d+ of the other workers.*");
    }

    @Test
    void should_say_how_many_requests_a_lost_worker_had() {
        assertThat(lines())
                .filteredOn(line -> line.startsWith("incident begins: workers of function demo are lost: "))
                .singleElement()
                .asString()
                .endsWith(". Requests in flight: 1");
    }

    @Test
    void should_say_why_the_ledger_cannot_be_reached() {
        assertThat(lines())
                .filteredOn(line -> line.startsWith("incident begins: the ledger of the fleet cannot be reached, "))
                .singleElement()
                .asString()
                .matches(".*: it cannot be (read|written): .*cut it off");
    }

    @ParameterizedTest
    @EnumSource(Kind.class)
    void should_have_an_alert_that_names_it(Kind kind) throws IOException {
        String alerts = Files.readString(Path.of("../docs/monitoring/alerts.yaml"));
        String name = "none";
        for (String alert : alerts.split("- alert: ")) {
            name = alert.contains('"' + kind.headline("…", "…") + '"')
                    ? alert.lines().findFirst().orElseThrow()
                    : name;
        }
        assertThat(Files.readString(Path.of("../docs/guides/troubleshoot.md")))
                .containsPattern(Pattern.compile(
                        Pattern.quote("| `" + kind.headline("…", "…") + "` |") + " `" + name + "` \\|"));
    }
}
