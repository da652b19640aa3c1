package io.lambdadispatcher.worker.internal.child;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/**
 * The processes of one session (setsid(2)). It finds processes that have lost the parent that
 * started them, because Linux reports the session of each process (proc(5), {@code
 * /proc/PID/stat}). On other systems, it finds none. Any thread.
 */
final class Session {
    /** Fields behind the program's name: state, parent, process group, session. */
    private static final int STATE = 0;

    private static final int SESSION = 3;
    private static final String ZOMBIE = "Z";
    private static final long NONE = -1;

    private Session() {}

    /** @param leader the process that started the session; it may have ended */
    static List<ProcessHandle> ledBy(long leader) {
        return ProcessHandle.allProcesses()
                .filter(process -> of(process.pid()) == leader)
                .toList();
    }

    private static long of(long pid) {
        try {
            String stat = Files.readString(Path.of("/proc", Long.toString(pid), "stat"), StandardCharsets.ISO_8859_1);
            // The name is in parentheses and can contain any character.
            String[] fields = stat.substring(stat.lastIndexOf(')') + 2).split(" ");
            return fields[STATE].equals(ZOMBIE) ? NONE : Long.parseLong(fields[SESSION]);
        } catch (IOException e) {
            return NONE; // it has ended meanwhile
        }
    }
}
