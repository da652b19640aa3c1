package io.lambdadispatcher.server;

import io.lambdadispatcher.core.spi.Ledger;
import io.lambdadispatcher.core.spi.LedgerException;
import io.lambdadispatcher.server.log.OwnerOnly;
import io.netty.util.concurrent.DefaultThreadFactory;
import java.io.IOException;
import java.io.InputStream;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.ObjectMapper;
import tools.jackson.databind.json.JsonMapper;

/**
 * The ledger of a fleet on one machine, in a file. A write replaces the file, while a lock of the
 * file beside it keeps other processes away: after a crash at any step, the file has its old or its
 * new content, and the system has released the lock. Any thread.
 */
final class LedgerFile implements Ledger {
    private static final ObjectMapper JSON = JsonMapper.shared();

    /** Also for a process that is stopped while it has the lock. */
    private static final long TIMEOUT_MILLIS = 3000;

    /** A process must not lock a file twice, and loses its lock when it closes the file once. */
    private static final ReentrantLock IN_PROCESS = new ReentrantLock();

    private final Path file;
    private final Path lock;
    private final Queue<Call<?>> waiting = new ConcurrentLinkedQueue<>();
    private final ExecutorService caller =
            Executors.newSingleThreadExecutor(new DefaultThreadFactory("ledger-file", true));

    /**
     * @throws IllegalArgumentException if the directory is missing, or cannot be written, or the
     *     path is that of a directory or of a symbolic link, which a write would replace
     */
    LedgerFile(Path file) {
        Path directory = file.getParent();
        if (directory == null || !Files.isDirectory(directory) || !Files.isWritable(directory)) {
            throw new IllegalArgumentException(
                    "expected a file in a directory that can be written, got \"" + file + '"');
        }
        if (Files.exists(file, LinkOption.NOFOLLOW_LINKS) && !Files.isRegularFile(file, LinkOption.NOFOLLOW_LINKS)) {
            throw new IllegalArgumentException(
                    "expected a new or regular file, no directory and no symbolic link, got \"" + file + '"');
        }
        this.file = file;
        lock = file.resolveSibling(file.getFileName() + ".lock");
    }

    /** A call that waits. Its action returns {@code true} if it has changed the entries. */
    private record Call<T>(Function<Map<String, Entry>, T> action, CompletableFuture<T> result) {
        /** Returns what answers the call. */
        Runnable apply(Map<String, Entry> entries, Runnable onChange) {
            T value = action.apply(entries);
            if (Boolean.TRUE.equals(value)) {
                onChange.run();
            }
            return () -> result.complete(value);
        }
    }

    @Override
    public CompletionStage<List<Entry>> read() {
        return locked(entries -> List.copyOf(entries.values()));
    }

    @Override
    public CompletionStage<Boolean> write(String key, long expectedVersion, String value) {
        Entry written = new Entry(key, expectedVersion + 1, value);
        return replacing(key, expectedVersion, written);
    }

    @Override
    public CompletionStage<Boolean> remove(String key, long version) {
        new Entry(key, version, ""); // Checks the arguments.
        return replacing(key, version, null);
    }

    /** @param next {@code null} = none */
    private CompletionStage<Boolean> replacing(String key, long expectedVersion, @Nullable Entry next) {
        return locked(entries -> {
            Entry current = entries.get(key);
            if ((current == null ? 0 : current.version()) != expectedVersion) {
                return false;
            }
            if (next == null) {
                entries.remove(key);
            } else {
                entries.put(key, next);
            }
            return true;
        });
    }

    private <T> CompletionStage<T> locked(Function<Map<String, Entry>, T> action) {
        Call<T> call = new Call<>(action, new CompletableFuture<>());
        waiting.add(call);
        try {
            caller.execute(this::runWaiting);
        } catch (RejectedExecutionException e) {
            waiting.remove(call);
            return CompletableFuture.failedFuture(new LedgerException("the ledger is closed", e));
        }
        return call.result.orTimeout(TIMEOUT_MILLIS, TimeUnit.MILLISECONDS).handle((value, error) -> {
            if (error != null) {
                throw failure(error);
            }
            return value;
        });
    }

    /** Runs all calls that wait. They share one write of the file, which waits for the disk. */
    private void runWaiting() {
        List<Call<?>> calls = new ArrayList<>();
        for (Call<?> next = waiting.poll(); next != null; next = waiting.poll()) {
            calls.add(next);
        }
        removeTimedOut(calls);
        if (calls.isEmpty()) {
            return;
        }
        try {
            IN_PROCESS.lockInterruptibly();
            try (FileChannel channel = FileChannel.open(
                    lock, Set.of(StandardOpenOption.CREATE, StandardOpenOption.WRITE), OwnerOnly.permissions())) {
                channel.lock(); // Until it is closed.
                removeTimedOut(calls);
                run(calls).forEach(Runnable::run);
            } finally {
                IN_PROCESS.unlock();
            }
        } catch (IOException | InterruptedException | RuntimeException e) {
            calls.forEach(call -> call.result.completeExceptionally(e));
        }
    }

    /** Whoever has been told that a call failed may decide otherwise. */
    private static void removeTimedOut(List<Call<?>> calls) {
        calls.removeIf(call -> call.result.isDone());
    }

    private List<Runnable> run(List<Call<?>> calls) throws IOException {
        Map<String, Entry> entries = entries();
        AtomicBoolean changed = new AtomicBoolean();
        List<Runnable> answers = new ArrayList<>();
        calls.forEach(call -> answers.add(call.apply(entries, () -> changed.set(true))));
        if (changed.get()) {
            StateFile.replace(file, JSON.writeValueAsBytes(entries.values()));
        }
        return answers;
    }

    private Map<String, Entry> entries() throws IOException {
        Map<String, Entry> entries = new TreeMap<>();
        try (InputStream in = Files.newInputStream(file, LinkOption.NOFOLLOW_LINKS)) {
            Entry[] all = JSON.readValue(in.readAllBytes(), Entry[].class);
            Arrays.stream(all).forEach(entry -> entries.put(entry.key(), entry));
        } catch (NoSuchFileException e) {
            // The first write creates it. After another failure, a write would erase all entries.
        }
        return entries;
    }

    private LedgerException failure(Throwable error) {
        String why;
        if (error instanceof JacksonException damage) {
            why = "it is damaged: " + damage.getOriginalMessage()
                    + ". Stop the dispatchers that use it, and delete it to start with no launches, no spending, and"
                    + " launching switched on";
        } else if (error instanceof TimeoutException) {
            why = "no access within " + TIMEOUT_MILLIS / 1000 + " s. A process that has locked it may be stopped";
        } else {
            why = error.toString();
        }
        return new LedgerException("file " + file + ": " + why, error);
    }

    @Override
    public void close() {
        caller.shutdown();
        try {
            if (!caller.awaitTermination(TIMEOUT_MILLIS, TimeUnit.MILLISECONDS)) {
                caller.shutdownNow();
            }
        } catch (InterruptedException e) {
            caller.shutdownNow();
            Thread.currentThread().interrupt();
        }
    }
}
