package io.lambdadispatcher.worker;

import io.lambdadispatcher.wire.http.PrintableText;
import io.lambdadispatcher.worker.config.WorkerConfig;
import io.lambdadispatcher.worker.handler.DrainReason;
import io.lambdadispatcher.worker.handler.Handler;
import io.lambdadispatcher.worker.internal.exchange.Lifecycles;
import java.io.IOException;
import java.io.InputStream;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Runs a worker in its own process. Environment variables configure it (see {@link
 * WorkerConfig#ofEnvironment}) and choose what it serves: the class that {@code
 * LAMBDA_DISPATCHER_HANDLER} names, the Lambda runtime that {@code LAMBDA_DISPATCHER_RUNTIME}
 * starts, or a web application. {@code docs/reference/adapters.md} describes these.
 *
 * <p><b>Shutdown.</b> SIGTERM drains the worker. {@code LAMBDA_DISPATCHER_EXIT_WITH_PARENT=true}
 * also drains it when the process that started it ends, and {@code =stdin} when standard input
 * ends. After either of these, it exits within about 5 s and the time that the handler's {@code
 * stop} takes.
 *
 * <p><b>Exit codes.</b> If the code is 1 or 2 and nobody asked the worker to end, the last line of
 * the log says why.
 * <ul>
 *   <li>0: the worker had a connection and ended without being rejected, or SIGTERM drained it.
 *   <li>1: it was rejected, never had a connection, or its handler could not start.
 *   <li>2: the environment is not usable, for example because it chooses nothing to serve.
 * </ul>
 */
public final class WorkerMain {
    private static final String EXIT_WITH_PARENT = WorkerConfig.VARIABLE_PREFIX + "EXIT_WITH_PARENT";
    private static final int FAILED = 1;
    private static final int BAD_CONFIGURATION = 2;

    /** After the parent's end nobody waits for a slow drain. */
    private static final long ORPHAN_GRACE_MILLIS = 5_000;

    private static final Logger log = LoggerFactory.getLogger(WorkerMain.class);

    private final Handler handler;
    private final Worker worker;
    private final CountDownLatch ended = new CountDownLatch(1);
    private volatile boolean toldToEnd;

    private WorkerMain(Map<String, String> variables) {
        this.handler = HandlerLoader.choose(variables);
        this.worker = new Worker(WorkerConfig.ofEnvironment(variables), handler);
    }

    /**
     * Runs the worker, and ends the JVM with one of the exit codes above.
     *
     * @param args ignored
     */
    public static void main(String[] args) throws Exception {
        WorkerMain main;
        try {
            main = new WorkerMain(System.getenv());
        } catch (IllegalArgumentException e) {
            log.error("{}", oneLine(PrintableText.ofFailure(e)));
            System.exit(BAD_CONFIGURATION);
            return;
        }
        main.watchParent(System.getenv(EXIT_WITH_PARENT));
        main.run();
    }

    private void run() throws Exception {
        Runtime.getRuntime().addShutdownHook(new Thread(this::onSignal, "drain"));
        worker.start();
        WorkerSummary summary = worker.done().toCompletableFuture().get();
        Lifecycles.stop(handler);
        ended.countDown();
        boolean clean = !summary.refused() && summary.connections() > 0;
        if (!clean && !toldToEnd) {
            log.error("{}", oneLine(summary.reason()));
        }
        System.exit(clean ? 0 : FAILED);
    }

    /** Who has started us may show the last line only. */
    static String oneLine(String text) {
        return text.replaceAll("\\s*\\R\\s*", " ");
    }

    /**
     * In the shutdown hook: the JVM waits for it, and ends with the signal's exit code unless we
     * halt with ours.
     */
    private void onSignal() {
        if (ended.getCount() == 0) {
            return;
        }
        toldToEnd = true;
        worker.drain(DrainReason.REQUESTED);
        boolean clean;
        try {
            clean = worker.done().toCompletableFuture().get(1, TimeUnit.HOURS) != null;
        } catch (Exception e) {
            clean = false;
        }
        Lifecycles.stop(handler);
        Runtime.getRuntime().halt(clean ? 0 : FAILED);
    }

    private void watchParent(String mode) {
        if (mode == null || mode.isBlank() || mode.equals("false")) {
            return;
        }
        if (mode.equals("stdin")) {
            daemon("stdin-watch", this::awaitEndOfInput);
            return;
        }
        ProcessHandle.current()
                .parent()
                .ifPresentOrElse(parent -> parent.onExit().thenRun(this::onParentGone), this::onParentGone);
    }

    private void awaitEndOfInput() {
        try (InputStream in = System.in) {
            in.transferTo(java.io.OutputStream.nullOutputStream());
        } catch (IOException e) {
            log.debug("standard input failed", e);
        }
        onParentGone();
    }

    private void onParentGone() {
        log.info("the parent process has exited");
        toldToEnd = true;
        worker.drain(DrainReason.REQUESTED);
        daemon("orphan-end", () -> {
            try {
                if (!ended.await(ORPHAN_GRACE_MILLIS, TimeUnit.MILLISECONDS)) {
                    Lifecycles.stop(handler);
                    Runtime.getRuntime().halt(FAILED);
                }
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        });
    }

    private static void daemon(String name, Runnable task) {
        Thread thread = new Thread(task, name);
        thread.setDaemon(true);
        thread.start();
    }
}
