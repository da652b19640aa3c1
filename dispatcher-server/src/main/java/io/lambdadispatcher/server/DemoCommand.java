package io.lambdadispatcher.server;

import io.lambdadispatcher.server.config.Configuration;
import io.lambdadispatcher.server.config.ConfigurationLoader;
import io.lambdadispatcher.server.config.FunctionSettings;
import io.lambdadispatcher.server.config.ListenAddress;
import io.lambdadispatcher.server.config.Setting;
import io.lambdadispatcher.server.config.Settings;
import io.lambdadispatcher.server.demo.DemoHandler;
import java.io.IOException;
import java.io.PrintWriter;
import java.net.ServerSocket;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Comparator;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Model.OptionSpec;

/**
 * Runs a dispatcher and its workers on this machine. The workers are processes with the demo
 * handler. Without a configured certificate, the dispatcher uses a self-signed one.
 */
final class DemoCommand extends SettingsCommand {
    private static final Map<Setting<?>, String> DEFAULTS = Map.ofEntries(
            Map.entry(FunctionSettings.FUNCTION_NAME, "demo"),
            Map.entry(FunctionSettings.FUNCTION_LAUNCHER, "local"),
            Map.entry(FunctionSettings.FUNCTION_MIN_WORKERS, "2"),
            Map.entry(FunctionSettings.FUNCTION_MAX_WORKERS, "2"),
            Map.entry(Settings.LOCAL_ENVIRONMENT, "LAMBDA_DISPATCHER_HANDLER=" + DemoHandler.class.getName()),
            Map.entry(Settings.SHUTDOWN_GRACE, "5s"));

    /** What a demo has of its own, or does not need. */
    private static final EnumSet<BasicSetting> UNUSUAL = EnumSet.of(
            BasicSetting.CERTIFICATE,
            BasicSetting.KEY,
            BasicSetting.SECRET,
            BasicSetting.LAMBDA,
            BasicSetting.SPENDING,
            BasicSetting.FLEET);

    /** Added to the time within which a worker must connect. */
    private static final Duration READY_MARGIN = Duration.ofSeconds(10);

    private final Supplier<Termination> termination;
    private final @Nullable Path whatToTry;
    private final @Nullable String examples;

    DemoCommand(Map<String, String> environment, Supplier<Termination> termination) {
        super(
                "demo",
                "Starts a dispatcher and two local workers on this machine.",
                EnumSet.complementOf(UNUSUAL),
                DEFAULTS,
                environment);
        this.termination = termination;
        String named = environment.get(ConfigurationLoader.DEMO_TRY_VARIABLE);
        whatToTry = named == null ? null : Path.of(named);
        examples = environment.get(ConfigurationLoader.DEMO_EXAMPLES_VARIABLE);
    }

    @Override
    void describe(CommandSpec spec) {
        if (examples != null) {
            spec.addOption(example(examples));
        }
    }

    /** Only for {@code --help}: the launch script removes this option from the arguments. */
    private static OptionSpec example(String names) {
        return OptionSpec.builder("--example")
                .paramLabel("NAME")
                .type(String.class)
                .description("Builds and runs one of the examples instead of the demo's own workers: " + names + ".")
                .build();
    }

    @Override
    int run(Configuration given, PrintWriter out, PrintWriter err) throws StartException, InterruptedException {
        Configuration configuration = given.onLoopback();
        Termination requested = termination.get();
        if (configuration.find(Settings.PUBLIC_TLS_CERTIFICATE) != null) {
            return run(withFreePorts(configuration, out), null, requested, out);
        }
        try (DemoCertificate certificate = DemoCertificate.create()) {
            // Deletes the files also if System.exit() skips the end of this block.
            Runtime.getRuntime().addShutdownHook(new Thread(certificate::close));
            Configuration secured = configuration
                    .withDefault(
                            Settings.PUBLIC_TLS_CERTIFICATE,
                            certificate.certificate().toString())
                    .withDefault(Settings.PUBLIC_TLS_KEY, certificate.key().toString());
            return run(withFreePorts(secured, out), certificate, requested, out);
        }
    }

    private int run(
            Configuration configuration, @Nullable DemoCertificate certificate, Termination requested, PrintWriter out)
            throws StartException, InterruptedException {
        FailedLaunch failed = FailedLaunch.ofLocalWorkers(configuration);
        Server server = Server.start(configuration, failed, Map.of());
        String obstacle = awaitReady(server, failed, requested, readyWithin(configuration));
        if (obstacle == null && !requested.isRequested()) {
            new DemoGreeting(server, certificate, whatToTry).print(out);
            Path example = whatToTry == null ? null : whatToTry.getParent();
            try (ExampleProcess beside = example == null ? null : ExampleProcess.start(example, server)) {
                requested.await();
            } catch (StartException e) {
                obstacle = e.getMessage();
            }
        }
        boolean stopped = server.stop(false);
        if (obstacle != null) {
            throw new StartException(obstacle);
        }
        return stopped ? ExitCode.OK : ExitCode.FAILED;
    }

    static Duration readyWithin(Configuration configuration) {
        return configuration.functions().stream()
                .map(function -> function.options().launching().launchTimeout())
                .max(Comparator.naturalOrder())
                .orElseThrow()
                .plus(READY_MARGIN);
    }

    /**
     * Waits until the demo is ready, or a shutdown is requested.
     *
     * @return why the demo does not become ready, in one line; {@code null} = it is ready, or a
     *     shutdown was requested
     */
    private static @Nullable String awaitReady(
            Server server, FailedLaunch failed, Termination requested, Duration limit) throws InterruptedException {
        long deadline = System.nanoTime() + limit.toNanos();
        String obstacle = server.obstacle();
        while (obstacle != null && !requested.await(20)) {
            String failure = failed.inOneLine();
            if (failure != null) {
                // Another launch would fail in the same way. The user is waiting for the reason.
                return failure;
            }
            if (System.nanoTime() - deadline >= 0) {
                return "the demo is not ready after " + limit.toSeconds() + " s: " + obstacle;
            }
            obstacle = server.obstacle();
        }
        return null;
    }

    /** Replaces default ports that are in use by free ports, and prints which ones. */
    static Configuration withFreePorts(Configuration configuration, PrintWriter out) {
        Configuration free = configuration;
        for (Setting<ListenAddress> setting : List.of(
                Settings.PUBLIC_PLAIN_PORT, Settings.PUBLIC_TLS_PORT, Settings.ADMIN_PORT, Settings.WORKERS_PORT)) {
            ListenAddress address = configuration.get(setting);
            // A port that the user has set stays: the start then fails if it is in use.
            if (configuration.isDefault(setting) && !address.isOff() && isTaken(address)) {
                out.println("Port " + address.port() + " (" + setting.name()
                        + ") is in use. The demo uses a free port instead.");
                free = free.withDefault(setting, "127.0.0.1:0");
            }
        }
        out.flush();
        return free;
    }

    private static boolean isTaken(ListenAddress address) {
        try (ServerSocket probe = new ServerSocket()) {
            // Servers do the same, so a port with connections in TIME_WAIT counts as free.
            probe.setReuseAddress(true);
            probe.bind(address.toSocketAddress());
            return false;
        } catch (IOException e) {
            return true;
        }
    }
}
