package io.lambdadispatcher.server;

import io.lambdadispatcher.server.config.Configuration;
import io.lambdadispatcher.server.config.ConfigurationException;
import io.lambdadispatcher.server.config.Settings;
import io.lambdadispatcher.server.config.ValueType;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** The files that a dispatcher opens at its start. A reload cannot change them. */
final class StartFiles {
    private StartFiles() {}

    /**
     * Checks the files without writing. One that does not exist yet needs only a directory.
     *
     * @throws ConfigurationException if a dispatcher could not start with them
     */
    static void check(Configuration configuration) throws ConfigurationException {
        List<String> problems = new ArrayList<>();
        Path state = configuration.find(Settings.STATE_FILE);
        if (state != null) {
            try {
                StateFile.read(state).close();
            } catch (StartException e) {
                problems.add(e.getMessage());
            }
        }
        Path ledger = configuration.fleetFile();
        if (ledger != null) {
            try {
                new LedgerFile(ledger).close();
            } catch (IllegalArgumentException e) {
                problems.add("fleet.table: " + e.getMessage());
            }
        }
        configuration
                .get(Settings.ACCESS_LOG_FILE)
                .filter(file -> !file.equals(ValueType.STDOUT) && !canAppend(file.toAbsolutePath()))
                .ifPresent(file -> problems.add("access-log.file: expected a file that can be written, or a new one in"
                        + " a directory that can be written, got \"" + file + '"'));
        if (!problems.isEmpty()) {
            throw new ConfigurationException(problems);
        }
    }

    private static boolean canAppend(Path file) {
        Path written = Files.exists(file) ? file : file.getParent();
        return written != null && Files.isWritable(written) && Files.isDirectory(written) != written.equals(file);
    }
}
