package io.lambdadispatcher.server.log;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;

@Timeout(60)
class LineFileTest {
    @TempDir
    Path directory;

    @Test
    void should_append_to_the_file() throws Exception {
        Path file = directory.resolve("access.log");
        Files.writeString(file, "before\n");

        try (LineFile lines = new LineFile(file)) {
            lines.write(List.of("one", "two"));
            lines.write(List.of("three"));
        }

        assertThat(file).hasContent("before\none\ntwo\nthree\n");
    }

    @Test
    void should_open_a_new_file_after_a_rotation() throws Exception {
        Path file = directory.resolve("access.log");
        Path rotated = directory.resolve("access.log.1");
        AtomicLong nanos = new AtomicLong();
        try (LineFile lines = new LineFile(file, nanos::get)) {
            lines.write(List.of("old"));
            Files.move(file, rotated);
            nanos.addAndGet(999_999_999);
            lines.write(List.of("also old"));
            nanos.addAndGet(1);
            lines.write(List.of("new"));
            Files.delete(file);
            nanos.addAndGet(1_000_000_000);
            lines.write(List.of("newer"));
        }

        assertThat(rotated).hasContent("old\nalso old\n");
        assertThat(file).hasContent("newer\n");
    }

    /** The log tells who has requested what. An existing file is as somebody wants it. */
    @Test
    @EnabledOnOs({OS.LINUX, OS.MAC})
    void should_create_a_file_for_its_owner_only() throws Exception {
        Path created = directory.resolve("created.log");
        new LineFile(created).close();
        assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(created)))
                .isEqualTo("rw-------");

        Path existing = Files.createFile(directory.resolve("existing.log"));
        Files.setPosixFilePermissions(existing, PosixFilePermissions.fromString("rw-r-----"));
        new LineFile(existing).close();
        assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(existing)))
                .isEqualTo("rw-r-----");
    }

    @Test
    void should_report_a_full_disk() throws Exception {
        Path full = Path.of("/dev/full");
        assumeTrue(Files.exists(full), "this system has no /dev/full");
        try (LineFile lines = new LineFile(full)) {
            assertThatThrownBy(() -> lines.write(List.of("lost"))).isInstanceOf(IOException.class);
        }
    }

    @Test
    void should_refuse_what_is_no_file() {
        assertThatThrownBy(() -> new LineFile(directory)).isInstanceOf(IOException.class);
    }
}
