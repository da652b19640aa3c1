package io.lambdadispatcher.worker.internal.child;

/** Starts a child, prints its id and halts, like a worker whose process is lost. */
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
            new java.util.concurrent.CountDownLatch(1).await();
        }
    }

    /**
     * Waits until the child runs the program. Before that, the child has not asked to be killed
     * with us.
     */
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
