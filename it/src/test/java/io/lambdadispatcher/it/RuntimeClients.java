package io.lambdadispatcher.it;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Assumptions;

/**
 * Provides AWS's runtime clients for other languages, from their registries. A test whose client is
 * not available is skipped, with the reason. {@code IT_RUNTIME_CLIENTS} is the directory of
 * installed clients.
 */
final class RuntimeClients {
    private static final Path DIRECTORY = Path.of(System.getenv()
                    .getOrDefault(
                            "IT_RUNTIME_CLIENTS",
                            Path.of("target", "runtime-clients").toString()))
            .toAbsolutePath();
    private static final String PYTHON_CLIENT = "awslambdaric==4.2.2";
    private static final String NODE_CLIENT = "aws-lambda-ric@4.0.2";

    private RuntimeClients() {}

    /** Returns the interpreter of an environment with the client. Installs it if necessary. */
    static synchronized Path python() throws Exception {
        Path environment = DIRECTORY.resolve("python");
        Path python = environment.resolve("bin").resolve("python");
        if (!runs(python.toString(), "-c", "import awslambdaric")) {
            Assumptions.assumeTrue(runs("python3", "--version"), "there is no python3");
            Assumptions.assumeTrue(
                    runs("python3", "-m", "venv", environment.toString()), "python3 cannot make an environment");
            Assumptions.assumeTrue(
                    runs(python.toString(), "-m", "pip", "install", "-q", PYTHON_CLIENT),
                    "pip cannot install " + PYTHON_CLIENT);
        }
        return python;
    }

    static String node() throws Exception {
        Assumptions.assumeTrue(runs("node", "--version"), "there is no node");
        return "node";
    }

    /** Returns the client's script. It must be installed, because its native part takes minutes. */
    static Path nodeClient() throws Exception {
        node();
        Path prefix = DIRECTORY.resolve("node");
        Path client = prefix.resolve("node_modules").resolve("aws-lambda-ric");
        Assumptions.assumeTrue(
                Files.exists(client.resolve("rapid-client.node")),
                "to have it, which takes minutes and cmake: npm install --prefix " + prefix + " " + NODE_CLIENT);
        return client.resolve("index.mjs");
    }

    /**
     * Returns a function with the client for {@code go} or {@code rust}, from {@code
     * src/test/resources/runtime}. It must be built before, because Rust takes minutes.
     */
    static Path function(String language) {
        Path function = DIRECTORY.resolve(language).resolve("function");
        Assumptions.assumeTrue(
                Files.isExecutable(function),
                "there is no " + function + ", which .ci/run builds where the compilers of Go and Rust are");
        return function;
    }

    private static boolean runs(String... command) throws InterruptedException {
        try {
            Process process = new ProcessBuilder(command)
                    .redirectErrorStream(true)
                    .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                    .start();
            if (process.waitFor(3, TimeUnit.MINUTES)) {
                return process.exitValue() == 0;
            }
            process.destroyForcibly();
        } catch (IOException e) {
            // The program does not exist.
        }
        return false;
    }
}
