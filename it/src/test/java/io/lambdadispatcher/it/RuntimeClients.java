package io.lambdadispatcher.it;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Assumptions;

/**
 * AWS's runtime clients for other languages, from their registries; a test that cannot have one is
 * skipped and says why. {@code IT_RUNTIME_CLIENTS} names a directory that has them already, or is
 * to have them.
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

    /**
     * The interpreter of an environment that has the client. Installed once, into the build's
     * directory.
     */
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

    /**
     * The client's script. Its native part takes minutes to build, so it is used where somebody has
     * done that.
     */
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
     * A function on the client for {@code go} or {@code rust}, from {@code
     * src/test/resources/runtime}. Not built here, for Rust's takes minutes.
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
            // There is no such program.
        }
        return false;
    }
}
