package io.lambdadispatcher.server;

import io.lambdadispatcher.server.config.Configuration;
import java.io.PrintWriter;
import java.util.Map;
import java.util.function.Supplier;

/** Starts the dispatcher and serves requests until SIGTERM or SIGINT. */
final class ServeCommand extends SettingsCommand {
    private final Supplier<Termination> termination;

    ServeCommand(Map<String, String> environment, Supplier<Termination> termination) {
        super("serve", "Starts the dispatcher and serves requests until SIGTERM or Ctrl-C.", Map.of(), environment);
        this.termination = termination;
    }

    @Override
    int run(Configuration configuration, PrintWriter out) throws StartException, InterruptedException {
        Termination requested = termination.get();
        Server server = Server.start(configuration);
        requested.await();
        return server.stop() ? ExitCode.OK : ExitCode.FAILED;
    }
}
