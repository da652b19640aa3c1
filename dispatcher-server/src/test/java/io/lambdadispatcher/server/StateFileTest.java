package io.lambdadispatcher.server;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.lambdadispatcher.core.observe.LaunchHistory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class StateFileTest {
    @TempDir
    private Path directory;

    private Path file() {
        return directory.resolve("state.json");
    }

    @Test
    void should_read_what_it_has_written() throws Exception {
        List<LaunchHistory> histories = List.of(
                new LaunchHistory("api", false, 7, List.of(0.0, 12.5, 1e-9, 123456789.125), "WATCHING\t7\t8\t\t"),
                new LaunchHistory("images", true, 0, List.of(), ""));
        try (StateFile state = StateFile.read(file())) {
            assertThat(state.earlier().functions()).isEmpty();
            state.keep(() -> histories);
        }
        assertThat(directory).isDirectoryContaining("glob:**/state.json");
        assertThat(directory.resolve("state.json.tmp")).doesNotExist();
        try (StateFile state = StateFile.read(file())) {
            assertThat(state.earlier().functions()).isEqualTo(histories);
            assertThat(Duration.between(state.earlier().taken(), Instant.now()))
                    .isBetween(Duration.ZERO, Duration.ofMinutes(5));
        }
    }

    @Test
    void should_read_a_file_of_a_version_that_knew_no_versions_of_functions() throws Exception {
        Files.writeString(
                file(),
                "{\"taken\":\"2026-11-22T00:00:00Z\",\"functions\":[{\"function\":\"f\",\"launching\":true,"
                        + "\"launchesInLastMinute\":1,\"gbSecondsByMinute\":[2]}]}");
        try (StateFile state = StateFile.read(file())) {
            assertThat(state.earlier().functions()).containsExactly(new LaunchHistory("f", true, 1, List.of(2.0), ""));
        }
    }

    /** The dispatcher has not started, and would say that nothing was launched. */
    @Test
    void should_leave_the_file_alone_if_the_start_fails() throws Exception {
        Files.writeString(file(), "{\"taken\":\"2026-11-22T00:00:00Z\",\"functions\":[]}");
        StateFile.read(file()).close();
        assertThat(file()).hasContent("{\"taken\":\"2026-11-22T00:00:00Z\",\"functions\":[]}");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "{",
                "{}",
                "[]",
                "null",
                "{\"taken\":\"2026-11-22T00:00:00Z\"}",
                "{\"taken\":\"yesterday\",\"functions\":[]}",
                "{\"taken\":\"2026-11-22T00:00:00Z\",\"functions\":[{\"function\":\"f\",\"launching\":true,"
                        + "\"launchesInLastMinute\":1,\"gbSecondsByMinute\":[-1]}]}",
                "{\"taken\":\"2026-11-22T00:00:00Z\",\"functions\":[{\"function\":\"f\",\"launchesInLastMinute\":1,"
                        + "\"gbSecondsByMinute\":[1]}]}"
            })
    void should_say_what_to_do_about_a_damaged_file(String content) throws Exception {
        Files.writeString(file(), content);
        assertThatThrownBy(() -> StateFile.read(file()))
                .isInstanceOf(StartException.class)
                .hasMessageContaining("state.file: \"" + file() + "\" is damaged")
                .hasMessageContaining("Delete it");
    }

    @Test
    void should_replace_the_target_of_a_symbolic_link() throws Exception {
        Path target = Files.createDirectory(directory.resolve("volume")).resolve("target.json");
        Files.writeString(target, "{\"taken\":\"2026-11-22T00:00:00Z\",\"functions\":[]}");
        Files.createSymbolicLink(file(), target);

        try (StateFile state = StateFile.read(file())) {
            state.keep(() -> List.of(new LaunchHistory("api", false, 7, List.of(), "")));
        }

        assertThat(file()).isSymbolicLink();
        assertThat(target).content().contains("\"api\"");
    }

    /** What a crash has left in its place could be readable for all, or lead to another file. */
    @Test
    @EnabledOnOs({OS.LINUX, OS.MAC})
    void should_write_a_file_that_only_its_owner_can_read() throws Exception {
        Path other = Files.writeString(directory.resolve("other"), "of somebody else");
        Files.createSymbolicLink(file().resolveSibling(file().getFileName() + ".tmp"), other);
        Files.writeString(file(), "{\"taken\":\"2026-11-22T00:00:00Z\",\"functions\":[]}");
        Files.setPosixFilePermissions(file(), PosixFilePermissions.fromString("rw-r--r--"));

        try (StateFile state = StateFile.read(file())) {
            state.keep(() -> List.of(new LaunchHistory("api", false, 7, List.of(), "")));
        }

        assertThat(file()).content().contains("\"api\"");
        assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(file())))
                .isEqualTo("rw-------");
        assertThat(other).hasContent("of somebody else");
    }

    @Test
    void should_refuse_a_symbolic_link_to_nothing() throws Exception {
        Files.createSymbolicLink(file(), directory.resolve("none.json"));

        assertThatThrownBy(() -> StateFile.read(file()))
                .isInstanceOf(StartException.class)
                .hasMessageContaining("expected a symbolic link to an existing file, got \"" + file() + "\"");
    }

    @Test
    void should_refuse_a_directory_that_does_not_exist() {
        assertThatThrownBy(() -> StateFile.read(directory.resolve("none/state.json")))
                .isInstanceOf(StartException.class)
                .hasMessageContaining("expected a file in a directory that can be written");
    }
}
