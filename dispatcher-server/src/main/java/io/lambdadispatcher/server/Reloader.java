package io.lambdadispatcher.server;

import io.lambdadispatcher.server.config.Configuration;
import io.lambdadispatcher.server.config.ConfigurationException;
import io.lambdadispatcher.server.task.Repeated;
import io.lambdadispatcher.wire.http.PrintableText;
import io.netty.util.concurrent.DefaultThreadFactory;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Reloads the configuration if it is asked to, and after the settings file, a certificate, a key or
 * a secret file has changed. A file counts as changed when it has been the same at two looks, so
 * that files that are replaced together are read together.
 *
 * <p>If settings are refused, the files that they name are watched, too. When one of them changes,
 * the settings are loaded again.
 *
 * <p>Files are compared by their contents. This notices also files that are replaced by a symbolic
 * link, as Kubernetes does.
 *
 * <p><b>Threading.</b> Any thread. All work is done on one thread.
 */
final class Reloader implements AutoCloseable {
    private static final Logger log = LoggerFactory.getLogger(Reloader.class);
    private static final long LOOK_MILLIS = 2_000;
    private static final long CLOSE_SECONDS = 10;

    /** Loads and checks the configuration as at startup. */
    interface Source {
        Configuration load() throws ConfigurationException;
    }

    private final Source source;
    private final Server server;
    private final ScheduledExecutorService thread =
            Executors.newSingleThreadScheduledExecutor(new DefaultThreadFactory("reload", true));

    /** The files of the latest configuration that was loaded. It may be in force only in part. */
    private Set<Path> loaded;

    /** The files at the last attempt to load them. */
    private Map<Path, String> seen;

    /** The files at the last look. */
    private Map<Path, String> looked;

    /** @param start the configuration that the server was started with */
    Reloader(Source source, Server server, Configuration start) {
        this.source = source;
        this.server = server;
        loaded = start.digests().keySet();
        seen = start.digests();
        looked = seen;
    }

    /** Starts to watch the files. */
    void watch() {
        watch(LOOK_MILLIS);
    }

    void watch(long everyMillis) {
        Runnable look = new Repeated("looking for changed files", this::look);
        thread.scheduleWithFixedDelay(look, everyMillis, everyMillis, TimeUnit.MILLISECONDS);
        Runnable warn = new Repeated("looking for certificates that expire", server::warnOfExpiry);
        thread.scheduleAtFixedRate(warn, 1, 1, TimeUnit.DAYS);
    }

    /** Reloads soon. */
    void request(String cause) {
        try {
            thread.execute(() -> reload(cause));
        } catch (RejectedExecutionException e) {
            log.info("{}: not reloaded, because the dispatcher shuts down.", cause);
        }
    }

    private void look() {
        Map<Path, String> now = Configuration.currentDigests(seen.keySet());
        boolean settled = now.equals(looked);
        looked = now;
        if (settled && !now.equals(seen)) {
            String changed = now.keySet().stream()
                    .filter(file -> !Objects.equals(now.get(file), seen.get(file)))
                    .map(Path::toString)
                    .sorted()
                    .collect(Collectors.joining(", "));
            reload(changed + " changed");
        }
    }

    private void reload(String cause) {
        Set<Path> files = new HashSet<>(loaded);
        files.addAll(server.files());
        Map<Path, String> before = Configuration.currentDigests(files);
        seen = before;
        try {
            Configuration latest = source.load();
            loaded = latest.digests().keySet();
            seen = new HashMap<>(before);
            seen.putAll(latest.digests());
            Configuration.Reload reload = server.reload(latest);
            // A certificate that is kept until a restart can be renewed until then.
            seen.keySet().removeIf(file -> !server.files().contains(file) && !loaded.contains(file));
            report(cause, reload);
        } catch (ConfigurationException e) {
            seen = new HashMap<>(seen);
            seen.putAll(e.digests());
            refuse(cause, e.problems());
        } catch (UncheckedIOException | IllegalArgumentException e) {
            refuse(cause, List.of(PrintableText.ofFailure(e)));
        } catch (RuntimeException | Error e) {
            log.error("{}: the reload failed", cause, e);
        }
        looked = seen;
    }

    private void refuse(String cause, List<String> problems) {
        server.reloadRefused(problems);
        log.error("{}: the reload was refused, and nothing has changed:", cause);
        problems.forEach(problem -> log.error("  {}", problem));
    }

    private static void report(String cause, Configuration.Reload reload) {
        log.info(
                "{}: {}",
                cause,
                reload.changes().isEmpty() ? "reloaded, and no setting has changed." : "reloaded. In force now:");
        reload.changes().forEach(change -> log.info("  {}", change));
        reload.restarts().forEach(restart -> log.warn("  needs a restart: {}", restart));
    }

    /** Waits for a reload that has begun. */
    @Override
    public void close() {
        thread.shutdown();
        try {
            if (!thread.awaitTermination(CLOSE_SECONDS, TimeUnit.SECONDS)) {
                log.warn("A reload has not ended within {} s.", CLOSE_SECONDS);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
