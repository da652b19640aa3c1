package io.lambdadispatcher.it.docker;

import java.io.File;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;

/** Finds programs, first the AWS command line that {@code .ci/run} installs. */
final class Programs {
    private Programs() {}

    /** Returns the directories with programs, for the environment variable {@code PATH}. */
    static String path() {
        String clients = System.getenv("IT_RUNTIME_CLIENTS");
        String path = System.getenv("PATH");
        return clients == null ? path : Path.of(clients, "aws", "bin") + File.pathSeparator + path;
    }

    static boolean has(String program) {
        return Arrays.stream(path().split(File.pathSeparator))
                .anyMatch(directory -> Files.isExecutable(Path.of(directory, program)));
    }
}
