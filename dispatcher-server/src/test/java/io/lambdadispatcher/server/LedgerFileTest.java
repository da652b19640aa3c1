package io.lambdadispatcher.server;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.lambdadispatcher.core.spi.Ledger;
import io.lambdadispatcher.core.spi.LedgerException;
import io.lambdadispatcher.test.LedgerContract;
import io.lambdadispatcher.wire.testkit.EachRelease;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.DisabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;

@EachRelease
class LedgerFileTest extends LedgerContract {
    @TempDir
    Path directory;

    @Override
    protected Ledger open(String fleet) {
        return new LedgerFile(directory.resolve(fleet));
    }

    private static Throwable failureOf(CompletionStage<?> call) throws Exception {
        try {
            call.toCompletableFuture().get(20, TimeUnit.SECONDS);
            throw new AssertionError("the call succeeded");
        } catch (ExecutionException e) {
            return e.getCause();
        }
    }

    @Test
    void should_refuse_a_file_without_a_directory() {
        assertThatThrownBy(() -> new LedgerFile(directory.resolve("none").resolve("ledger")))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage(
                        "expected a file in a directory that can be written, got \"" + directory + "/none/ledger\"");
    }

    @Test
    @DisabledOnOs(OS.WINDOWS)
    void should_refuse_what_is_not_a_file() throws Exception {
        Path link = Files.createSymbolicLink(directory.resolve("link"), directory.resolve("none"));
        for (Path path : new Path[] {link, Files.createDirectory(directory.resolve("sub"))}) {
            assertThatThrownBy(() -> new LedgerFile(path))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessage(
                            "expected a new or regular file, no directory and no symbolic link, got \"" + path + '"');
        }
    }

    /** An unreadable ledger is not an empty one, which the next write would replace. */
    @Test
    @DisabledOnOs(OS.WINDOWS)
    void should_fail_and_leave_a_file_that_cannot_be_read() throws Exception {
        Path file = directory.resolve("ledger");
        try (Ledger ledger = new LedgerFile(file)) {
            Files.createSymbolicLink(file, file); // Nobody can read it, not even root.
            assertThat(failureOf(ledger.read()))
                    .isInstanceOf(LedgerException.class)
                    .hasMessageStartingWith("file " + file + ": ");
            assertThat(failureOf(ledger.write("a", 0, "1"))).isInstanceOf(LedgerException.class);
            assertThat(Files.readSymbolicLink(file)).isEqualTo(file);
        }
    }

    /** Otherwise, a disk that has lost the file would permit as many launches again. */
    @Test
    void should_report_a_damaged_file_and_leave_it() throws Exception {
        Path file = Files.writeString(directory.resolve("ledger"), "[{\"key\":");
        try (Ledger ledger = new LedgerFile(file)) {
            assertThat(failureOf(ledger.read()))
                    .isInstanceOf(LedgerException.class)
                    .hasMessageStartingWith("file " + file + ": it is damaged: ")
                    .hasMessageContaining("delete it to start with no launches");
            assertThat(failureOf(ledger.write("a", 0, "1"))).isInstanceOf(LedgerException.class);
            assertThat(Files.readString(file)).isEqualTo("[{\"key\":");
        }
    }

    /** Whoever reads it learns what was spent. */
    @Test
    @DisabledOnOs(OS.WINDOWS)
    void should_create_files_for_their_owner_only() throws Exception {
        try (Ledger ledger = new LedgerFile(directory.resolve("ledger"))) {
            ledger.write("a", 0, "1").toCompletableFuture().get(20, TimeUnit.SECONDS);
        }
        for (String name : new String[] {"ledger", "ledger.lock"}) {
            assertThat(Files.getPosixFilePermissions(directory.resolve(name))).hasSize(2);
        }
    }

    /** A process that is stopped while it holds the lock must not stop the others forever. */
    @Test
    @DisabledOnOs(OS.WINDOWS)
    void should_fail_if_another_process_keeps_the_lock() throws Exception {
        Path lock = directory.resolve("ledger.lock");
        Process other = new ProcessBuilder(
                        "python3",
                        "-c",
                        "import fcntl, sys; file = open(sys.argv[1], 'w'); fcntl.lockf(file, fcntl.LOCK_EX);"
                                + " print('locked', flush=True); sys.stdin.read()",
                        lock.toString())
                .start();
        assertThat(other.inputReader().readLine()).isEqualTo("locked");
        try (Ledger ledger = new LedgerFile(directory.resolve("ledger"))) {
            assertThat(failureOf(ledger.write("a", 0, "1")))
                    .isInstanceOf(LedgerException.class)
                    .hasMessageContaining("no access within 3 s");
            other.destroy();
            other.waitFor();
            assertThat(ledger.write("b", 0, "1").toCompletableFuture().get(20, TimeUnit.SECONDS))
                    .isTrue();
            assertThat(ledger.read().toCompletableFuture().get(20, TimeUnit.SECONDS))
                    .as("not what was answered by the timeout")
                    .containsExactly(new Ledger.Entry("b", 1, "1"));
        } finally {
            other.destroyForcibly();
        }
    }
}
