package io.lambdadispatcher.core.internal.engine;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * Reads how long the control group of this process had to wait for its next quota of processor
 * time: {@code throttled_usec} of version 2, {@code throttled_time} of version 1. Any thread.
 */
final class Throttling {
    static final Path ROOT = Path.of("/sys/fs/cgroup");

    private static final List<String> FILES = List.of("cpu.stat", "cpu/cpu.stat", "cpu,cpuacct/cpu.stat");
    private static final String MICROS = "throttled_usec ";
    private static final String NANOS = "throttled_time ";

    private Throttling() {}

    /** Returns -1 if it is not known, for example because the process has no limit. */
    static long nanos(Path root) {
        for (String name : FILES) {
            Path file = root.resolve(name);
            if (Files.isReadable(file)) {
                try {
                    return nanos(Files.readAllLines(file));
                } catch (IOException | NumberFormatException e) {
                    return -1;
                }
            }
        }
        return -1;
    }

    private static long nanos(List<String> lines) {
        for (String line : lines) {
            if (line.startsWith(MICROS)) {
                return TimeUnit.MICROSECONDS.toNanos(
                        Long.parseLong(line.substring(MICROS.length()).strip()));
            }
            if (line.startsWith(NANOS)) {
                return Long.parseLong(line.substring(NANOS.length()).strip());
            }
        }
        return -1;
    }
}
