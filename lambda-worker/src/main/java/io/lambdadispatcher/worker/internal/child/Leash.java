package io.lambdadispatcher.worker.internal.child;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Sees to it that a child does not outlive a worker that could not stop it: one that was killed, or
 * halted. On Linux the kernel kills the child (PR_SET_PDEATHSIG, set by {@code setpriv} of
 * util-linux), and the child leads a {@link Session} of its own. Where that is missing a shell
 * waits at a pipe from us for its end, and kills the child then. Where there is no shell either,
 * nothing is done but a line in the log.
 */
final class Leash {
    private static final List<String> SETPRIV = List.of("setpriv", "--pdeathsig", "KILL", "--", "setsid", "--");
    private static final int CHECK_SECONDS = 5;

    private static final Logger log = LoggerFactory.getLogger(Leash.class);

    private Leash() {}

    /** The command, or one that becomes it. */
    static List<String> wrap(List<String> command) {
        return Kernel.HOLDS ? concat(SETPRIV, command) : command;
    }

    /** Does what {@link #wrap} could not. */
    static void hold(Process child) {
        if (!Kernel.HOLDS) {
            watch(child);
        }
    }

    static void watch(Process child) {
        try {
            Process watcher = new ProcessBuilder("sh", "-c", "read nothing; kill -KILL " + child.pid())
                    .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                    .redirectError(ProcessBuilder.Redirect.DISCARD)
                    .start();
            child.onExit().thenRun(watcher::destroyForcibly);
        } catch (IOException e) {
            log.warn("process {} may keep running after this worker exits: {}", child.pid(), e.getMessage());
        }
    }

    private static List<String> concat(List<String> first, List<String> second) {
        List<String> all = new ArrayList<>(first);
        all.addAll(second);
        return all;
    }

    /**
     * Asked once, by trying: there are a {@code setpriv} without the option (BusyBox) and systems
     * without one.
     */
    private static final class Kernel {
        static final boolean HOLDS = tried();

        private static boolean tried() {
            try {
                Process trial = new ProcessBuilder(concat(SETPRIV, List.of("true")))
                        .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                        .redirectError(ProcessBuilder.Redirect.DISCARD)
                        .start();
                if (trial.waitFor(CHECK_SECONDS, TimeUnit.SECONDS)) {
                    return trial.exitValue() == 0;
                }
                trial.destroyForcibly();
            } catch (IOException e) {
                log.debug("no setpriv", e);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
            return false;
        }
    }
}
