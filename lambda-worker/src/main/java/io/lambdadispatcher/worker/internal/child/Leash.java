package io.lambdadispatcher.worker.internal.child;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Ends a child whose worker was killed or halted and could not stop it. On Linux, the kernel kills
 * the child (PR_SET_PDEATHSIG, set by {@code setpriv} of util-linux), and the child leads its own
 * {@link Session}. Without {@code setpriv}, a shell waits for the end of a pipe from the worker and
 * then kills the child. Without a shell, a line is logged and nothing else is done.
 */
final class Leash {
    private static final List<String> SETPRIV = List.of("setpriv", "--pdeathsig", "KILL", "--", "setsid", "--");
    private static final int CHECK_SECONDS = 5;

    private static final Logger log = LoggerFactory.getLogger(Leash.class);

    private Leash() {}

    /** Returns the command, or one that becomes it. */
    static List<String> wrap(List<String> command) {
        return Kernel.HOLDS ? concat(SETPRIV, command) : command;
    }

    /** Does what {@link #wrap} could not do. */
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
     * Tries once, because some systems have no {@code setpriv}, and that of BusyBox lacks the
     * option.
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
