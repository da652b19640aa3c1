package io.lambdadispatcher.worker.adapter.web;

import io.lambdadispatcher.worker.config.WorkerConfig;
import io.lambdadispatcher.worker.internal.child.Child;
import io.lambdadispatcher.worker.internal.child.ChildCommand;
import io.lambdadispatcher.worker.internal.child.ChildListener;
import io.netty.util.NetUtil;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Starts the application's process, if {@link WebConfig.Builder#command} is set, and waits until
 * the application is ready. An application that exits is started again; until it listens again,
 * requests to it fail. The start fails if the process exits three times before it was ever ready.
 * Methods may be called from any thread.
 */
final class WebApp implements ChildListener {
    private static final Duration STOP_GRACE = Duration.ofSeconds(2);
    private static final int MOST_EARLY_DEATHS = 3;

    /**
     * An application for AWS Lambda Web Functions listens on the host and port in this variable
     * (AWS Lambda developer guide, Web Functions, Environment variables).
     */
    private static final String WEB_FUNCTIONS_ENDPOINT = "AWS_LAMBDA_HTTP_ENDPOINT";

    private static final Logger log = LoggerFactory.getLogger(WebApp.class);

    private final WebConfig config;
    private final @Nullable Child child;
    private final CompletableFuture<Void> ready = new CompletableFuture<>();
    private @Nullable CompletableFuture<Void> probe;
    private boolean started;
    private boolean stopped;
    private int earlyDeaths;

    WebApp(WebConfig config) {
        this.config = config;
        String command = config.command;
        this.child = command == null ? null : new Child(command(command), this);
    }

    /**
     * Returns the command with the address that the worker connects to, and without the worker's
     * own environment variables, because these include secrets and tokens. The application gets one
     * of them, its share of downstream connections.
     */
    private ChildCommand command(String line) {
        String port = Integer.toString(config.address.getPort());
        ChildCommand command = ChildCommand.shell("app", line)
                .with("PORT", port)
                .with(WEB_FUNCTIONS_ENDPOINT, NetUtil.toSocketAddressString(config.address));
        for (String name : System.getenv().keySet()) {
            if (name.startsWith(WorkerConfig.VARIABLE_PREFIX) && !name.equals(WorkerConfig.DOWNSTREAM_SHARE_VARIABLE)) {
                command = command.without(name);
            }
        }
        return command;
    }

    /** Starts the application if this has not happened yet. Fails after {@link #stop}. */
    synchronized CompletionStage<Void> start() {
        if (stopped) {
            return CompletableFuture.failedFuture(stoppedAlready());
        }
        if (!started) {
            started = true;
            if (child == null) {
                awaitReady();
            } else {
                child.start();
            }
        }
        return ready.copy();
    }

    void stop() {
        ready.completeExceptionally(stoppedAlready());
        synchronized (this) {
            stopped = true;
            if (probe != null) {
                probe.cancel(false);
            }
        }
        if (child == null) {
            return;
        }
        try {
            child.stop(STOP_GRACE).toCompletableFuture().get(STOP_GRACE.toMillis() * 2, TimeUnit.MILLISECONDS);
        } catch (TimeoutException | ExecutionException e) {
            log.warn("the app has not exited", e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private IllegalStateException stoppedAlready() {
        String name = config.command == null ? "at " + config.address : "'" + config.command + "'";
        return new IllegalStateException("the app " + name + " has been stopped");
    }

    @Override
    public void onStarted(long pid) {
        awaitReady();
    }

    @Override
    public void onDied(String how) {
        if (!ready.isDone() && ++earlyDeaths == MOST_EARLY_DEATHS) {
            ready.completeExceptionally(new IllegalStateException(
                    "the app '" + config.command + "' died " + earlyDeaths + " times before it was ready: " + how));
        }
    }

    /**
     * Starts a probe, unless one is running. A probe that was waiting for a process that has exited
     * continues with the next process.
     */
    private synchronized void awaitReady() {
        if (stopped || probe != null && !probe.isDone()) {
            return;
        }
        CompletableFuture<Void> started = ReadinessProbe.start(config.readiness, config.address.getHostString());
        probe = started;
        started.whenComplete((nothing, failure) -> {
            if (failure != null) {
                ready.completeExceptionally(failure);
                return;
            }
            if (child != null) {
                child.markHealthy();
            }
            ready.complete(null);
        });
    }
}
