package io.lambdadispatcher.server.log;

import io.lambdadispatcher.accesslog.AccessLog;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Appends lines to a file or to standard output. After a rotation, when the file has been renamed
 * or deleted, it opens a new file within a second of the next line. Used by one thread, except
 * {@link #close}, which is called after it.
 */
public final class LineFile implements AccessLog.Writer, AutoCloseable {
    private static final long CHECK_NANOS = TimeUnit.SECONDS.toNanos(1);

    /** {@code null} for standard output. */
    private final @Nullable Path file;

    private FileChannel channel;
    /** Identifies the open file; {@code null} for standard output, or without such keys. */
    private @Nullable Object key;

    private final LongSupplier clock;
    private long checkedNanos;

    /**
     * Opens the file.
     *
     * @param file created for its owner only if it does not exist; {@code null} = standard output
     * @throws IOException if the file cannot be opened
     */
    public LineFile(@Nullable Path file) throws IOException {
        this(file, System::nanoTime);
    }

    /** @param clock in nanoseconds */
    LineFile(@Nullable Path file, LongSupplier clock) throws IOException {
        this.file = file;
        this.clock = clock;
        checkedNanos = clock.getAsLong();
        if (file == null) {
            channel = new FileOutputStream(FileDescriptor.out).getChannel();
        } else {
            channel = open(file);
            key = keyOf(file);
        }
    }

    private static FileChannel open(Path file) throws IOException {
        return FileChannel.open(
                file, Set.of(StandardOpenOption.CREATE, StandardOpenOption.APPEND), OwnerOnly.permissions());
    }

    private static @Nullable Object keyOf(Path file) throws IOException {
        return Files.readAttributes(file, BasicFileAttributes.class).fileKey();
    }

    /** If the disk is full, it removes what it has written, so that no line is cut off. */
    @Override
    public void write(List<String> lines) throws IOException {
        if (file != null) {
            reopenIfRotated(file);
        }
        StringBuilder text = new StringBuilder();
        lines.forEach(line -> text.append(line).append('\n'));
        ByteBuffer bytes = ByteBuffer.wrap(text.toString().getBytes(StandardCharsets.UTF_8));
        int total = bytes.remaining();
        try {
            while (bytes.hasRemaining()) {
                channel.write(bytes);
            }
        } catch (IOException e) {
            int written = total - bytes.remaining();
            if (file != null && written > 0) {
                channel.truncate(channel.size() - written);
            }
            throw e;
        }
    }

    private void reopenIfRotated(Path path) throws IOException {
        long now = clock.getAsLong();
        if (channel.isOpen() && now - checkedNanos < CHECK_NANOS) {
            return;
        }
        checkedNanos = now;
        if (!channel.isOpen() || isRotated(path)) {
            channel.close();
            channel = open(path);
            key = keyOf(path);
        }
    }

    private boolean isRotated(Path path) throws IOException {
        try {
            return !Objects.equals(key, keyOf(path));
        } catch (NoSuchFileException e) {
            return true;
        }
    }

    @Override
    public void close() throws IOException {
        if (file != null) {
            channel.close();
        }
    }
}
