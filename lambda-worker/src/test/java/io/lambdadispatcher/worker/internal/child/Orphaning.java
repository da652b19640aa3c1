package io.lambdadispatcher.worker.internal.child;

/** A worker's process that is lost with a child running: prints the child's id and halts. */
final class Orphaning {
    private Orphaning() {}

    public static void main(String[] arguments) throws Exception {
        boolean byShell = arguments[0].equals("shell");
        if (byShell) {
            Process child = new ProcessBuilder("sleep", "1000").start();
            Leash.watch(child);
            end(child.pid());
        } else {
            new Child(ChildCommand.of("orphan", java.util.List.of("sleep", "1000")), new ChildListener() {
                        @Override
                        public void onStarted(long pid) {
                            awaitProgram(pid);
                            end(pid);
                        }

                        @Override
                        public void onDied(String how) {}
                    })
                    .start();
            Thread.sleep(60_000);
        }
    }

    /** Before it is the program, it has not yet asked to be killed with us. */
    private static void awaitProgram(long pid) {
        while (!ProcessHandle.of(pid)
                .flatMap(child -> child.info().command())
                .orElse("")
                .endsWith("sleep")) {
            Thread.onSpinWait();
        }
    }

    private static void end(long pid) {
        System.out.println("child=" + pid);
        System.out.flush();
        Runtime.getRuntime().halt(0);
    }
}
