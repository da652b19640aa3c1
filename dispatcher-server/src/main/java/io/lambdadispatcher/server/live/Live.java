package io.lambdadispatcher.server.live;

import io.lambdadispatcher.core.Dispatcher;
import io.lambdadispatcher.core.observe.DispatcherObserver;
import io.lambdadispatcher.core.options.FunctionOptions;
import io.lambdadispatcher.server.config.Configuration;
import io.lambdadispatcher.server.config.FunctionConfiguration;
import io.lambdadispatcher.server.live.ChangeLog.ChangeKind;
import io.lambdadispatcher.server.task.Repeated;
import io.netty.util.concurrent.DefaultThreadFactory;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * What the live page and {@code /api} show. Nothing is collected for them while nobody asks, except
 * counts of requests, the latest failures, launches and changes, and one sample a second.
 *
 * <p><b>Threading.</b> Any thread, except event loops of the dispatcher.
 */
public final class Live implements AutoCloseable {
    /** All viewers of the page share one document of this age. */
    private static final long SHARED_NANOS = TimeUnit.MILLISECONDS.toNanos(900);

    private final Recorder recorder = new Recorder();
    private final History history = new History(recorder);
    private final ScheduledExecutorService sampler =
            Executors.newSingleThreadScheduledExecutor(new DefaultThreadFactory("live-history", true));
    private volatile @Nullable Documents documents;

    private byte @Nullable [] shared;
    private long sharedNanos;

    public DispatcherObserver observer() {
        return recorder;
    }

    /** Starts to collect samples. */
    public void watch(Dispatcher dispatcher, Configuration configuration) {
        show(dispatcher, configuration);
        Runnable sample = new Repeated("collecting samples for the live page", () -> sample(dispatcher));
        sampler.scheduleAtFixedRate(sample, 0, 1, TimeUnit.SECONDS);
    }

    private void sample(Dispatcher dispatcher) {
        history.sample(dispatcher.pools());
        recorder.changes().watchVersions(dispatcher.capacity());
        recorder.routes().tick(System.nanoTime());
    }

    /**
     * Remembers that the settings were read again.
     *
     * @param changes what differs, one setting a line
     * @param restarts what differs and needs a restart
     */
    public void reloaded(List<String> changes, List<String> restarts) {
        List<String> lines = new ArrayList<>(changes);
        restarts.forEach(restart -> lines.add("needs a restart: " + restart));
        recorder.changes()
                .add(
                        ChangeKind.RELOAD,
                        lines.isEmpty() ? "reloaded, no setting has changed" : String.join("\n", lines));
    }

    /** Remembers that a reload was refused, and why. */
    public void reloadRefused(List<String> problems) {
        recorder.changes().add(ChangeKind.RELOAD, "refused, nothing has changed: " + String.join("\n", problems));
    }

    /**
     * Remembers a command that was accepted.
     *
     * @param line what was sent, and by whom
     */
    public void commanded(String line) {
        recorder.changes().add(ChangeKind.COMMAND, line);
    }

    /** Sets the configuration that is in force. */
    public void show(Dispatcher dispatcher, Configuration configuration) {
        Map<String, FunctionOptions> options = configuration.functions().stream()
                .map(FunctionConfiguration::options)
                .collect(Collectors.toMap(FunctionOptions::name, Function.identity()));
        Map<String, Object> about = new LinkedHashMap<>();
        about.put("version", About.version());
        about.put("config", About.configuration(configuration));
        documents = new Documents(dispatcher, recorder, history, options, about);
    }

    /**
     * Returns a document as JSON.
     *
     * @param name the part of the path behind {@code /api/}
     * @throws IllegalStateException if the dispatcher has not started, or if its event loops do not
     *     answer and {@code name} is {@code workers} or {@code requests}. The message says which
     * @throws IllegalArgumentException if there is no such document
     */
    public byte[] json(String name) {
        Documents made = documents;
        if (made == null) {
            throw new IllegalStateException("the dispatcher is starting");
        }
        byte[] json = name.equals("live") ? shared(made) : made.json(name);
        if (json == null) {
            throw new IllegalArgumentException("no document " + name);
        }
        return json;
    }

    private synchronized byte @Nullable [] shared(Documents made) {
        if (shared == null || System.nanoTime() - sharedNanos > SHARED_NANOS) {
            shared = made.json("live");
            sharedNanos = System.nanoTime();
        }
        return shared;
    }

    @Override
    public void close() {
        sampler.shutdownNow();
    }
}
