package io.lambdadispatcher.server;

import io.lambdadispatcher.server.config.Configuration;
import io.lambdadispatcher.server.config.ConfigurationException;
import java.io.PrintWriter;
import java.util.EnumSet;
import java.util.Map;
import java.util.function.Supplier;

/** Starts the dispatcher and serves requests until SIGTERM or SIGINT. SIGHUP reloads. */
final class ServeCommand extends SettingsCommand {
    static final String NAME = "serve";

    private final Map<String, String> environment;
    private final Supplier<Termination> termination;

    ServeCommand(Map<String, String> environment, Supplier<Termination> termination) {
        super(
                NAME,
                "Starts the dispatcher. SIGTERM ends it, SIGHUP reloads settings.",
                EnumSet.allOf(BasicSetting.class),
                Map.of(),
                environment);
        this.environment = environment;
        this.termination = termination;
    }

    @Override
    int run(Configuration configuration, PrintWriter out, PrintWriter err)
            throws ConfigurationException, StartException, InterruptedException {
        StartFiles.check(configuration);
        Termination requested = termination.get();
        // Until then, the files are still to be read, or are looked at soon.
        requested.onHangUp(() -> {});
        Server server = Server.start(configuration, environment);
        try (Systemd systemd = Systemd.of(environment)) {
            try (Reloader reloader = new Reloader(this::load, server, configuration)) {
                requested.onHangUp(() -> reloader.request("SIGHUP"));
                reloader.watch();
                server.accepting().thenRun(systemd::ready);
                systemd.watch(environment, server::respond);
                requested.await();
                systemd.stopping();
            }
            return server.stop(!requested.isInterrupted()) ? ExitCode.OK : ExitCode.FAILED;
        }
    }
}
