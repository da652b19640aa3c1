package io.lambdadispatcher.server;

import io.lambdadispatcher.core.observe.LaunchHistory;
import io.lambdadispatcher.server.log.OwnerOnly;
import io.lambdadispatcher.server.task.Repeated;
import io.lambdadispatcher.wire.http.PrintableText;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.time.Instant;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.DeserializationFeature;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.ObjectMapper;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.node.ObjectNode;

/**
 * The file of {@code state.file}, which keeps the launch rate, the spending, the kill switch, the
 * version of each function across restarts. The file is replaced by renaming a
 * temporary file: after a crash, it has either the old or the new content.
 *
 * <p><i>Threading:</i> a separate thread writes the file. {@link #read}, {@link #keep} and {@link
 * #close} are called on the main thread.
 */
final class StateFile implements AutoCloseable {
    private static final Logger log = LoggerFactory.getLogger(StateFile.class);
    private static final long WRITE_EVERY_SECONDS = 5;
    /**
     * Rejects a file in which a member is missing. Jackson would read it as 0 or false, and false
     * would switch launching off.
     */
    private static final ObjectMapper JSON = JsonMapper.builder()
            .enable(DeserializationFeature.FAIL_ON_MISSING_CREATOR_PROPERTIES)
            .build();

    /** The content of the file. */
    record State(Instant taken, List<LaunchHistory> functions) {
        State {
            Objects.requireNonNull(taken, "taken");
            functions = List.copyOf(functions);
        }
    }

    private final Path file;
    private final State earlier;
    private final ScheduledExecutorService writer = Executors.newSingleThreadScheduledExecutor(task -> {
        Thread thread = new Thread(task, "state-file");
        thread.setDaemon(true);
        return thread;
    });
    private Supplier<List<LaunchHistory>> source = List::of;
    private boolean kept;

    // Used only on the writer's thread.
    private @Nullable List<LaunchHistory> written;
    private boolean failing;

    private StateFile(Path file, State earlier) {
        this.file = file;
        this.earlier = earlier;
    }

    /**
     * Reads the file. A file that does not exist yet is empty.
     *
     * @throws StartException if the file is damaged, or cannot be read or written
     */
    static StateFile read(Path file) throws StartException {
        Path absolute = target(file.toAbsolutePath());
        Path directory = absolute.getParent();
        if (directory == null || !Files.isDirectory(directory) || !Files.isWritable(directory)) {
            throw new StartException(
                    "state.file: expected a file in a directory that can be written, got \"" + file + "\"");
        }
        try {
            if (!Files.exists(absolute)) {
                return new StateFile(absolute, new State(Instant.EPOCH, List.of()));
            }
            State earlier = JSON.treeToValue(completed(absolute), State.class);
            if (earlier == null) {
                throw damaged(file, "it holds null", null);
            }
            return new StateFile(absolute, earlier);
        } catch (IOException e) {
            throw new StartException("state.file: expected a readable file, got \"" + file + "\": " + e, e);
        } catch (JacksonException e) {
            throw damaged(file, e.getOriginalMessage(), e);
        }
    }

    /** Returns what a symbolic link leads to, because a rename would replace the link. */
    private static Path target(Path file) throws StartException {
        try {
            return Files.isSymbolicLink(file) ? file.toRealPath() : file;
        } catch (IOException e) {
            throw new StartException(
                    "state.file: expected a symbolic link to an existing file, got \"" + file + "\": " + e, e);
        }
    }

    /** Adds what the file of an earlier version does not have. */
    private static JsonNode completed(Path file) throws IOException {
        JsonNode state = JSON.readTree(Files.readAllBytes(file));
        for (JsonNode function : state.path("functions")) {
            if (function instanceof ObjectNode members) {
                members.putIfAbsent("rollout", members.stringNode(""));
            }
        }
        return state;
    }

    private static StartException damaged(Path file, String how, @Nullable Throwable cause) {
        return new StartException(
                "state.file: \"" + file + "\" is damaged: " + how
                        + ". Delete it to start with no launches, no spending, and launching switched on",
                cause);
    }

    /** Returns what the file held when it was read. */
    State earlier() {
        return earlier;
    }

    /** Starts to write what {@code histories} returns, each time it has changed. */
    void keep(Supplier<List<LaunchHistory>> histories) {
        source = histories;
        kept = true;
        Runnable write = new Repeated("writing state.file", this::write);
        writer.scheduleWithFixedDelay(write, 0, WRITE_EVERY_SECONDS, TimeUnit.SECONDS);
    }

    private void write() {
        try {
            List<LaunchHistory> now = source.get();
            if (!now.equals(written)) {
                replace(file, JSON.writeValueAsBytes(new State(Instant.now(), now)));
                written = now;
            }
            failing = false;
        } catch (IOException | RuntimeException e) {
            if (!failing) {
                log.error(
                        "state.file {} cannot be written, so a restart would forget what has been spent: {}",
                        file,
                        PrintableText.ofFailure(e));
            }
            failing = true;
        }
    }

    /** Replaces a file at once, also for a reader, and for one who comes after a crash. */
    static void replace(Path file, byte[] content) throws IOException {
        Path next = file.resolveSibling(file.getFileName() + ".tmp");
        // One that a crash has left could have other permissions, or lead to another file.
        Files.deleteIfExists(next);
        try (FileChannel channel = FileChannel.open(
                next, Set.of(StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE), OwnerOnly.permissions())) {
            ByteBuffer left = ByteBuffer.wrap(content);
            while (left.hasRemaining()) {
                channel.write(left);
            }
            channel.force(true);
        }
        Files.move(next, file, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
    }

    /** Writes the last state, if {@link #keep} was called. */
    @Override
    public void close() {
        if (kept) {
            writer.execute(this::write);
        }
        writer.shutdown();
        try {
            if (!writer.awaitTermination(WRITE_EVERY_SECONDS, TimeUnit.SECONDS)) {
                log.error("state.file {} has not been written within {} s", file, WRITE_EVERY_SECONDS);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
