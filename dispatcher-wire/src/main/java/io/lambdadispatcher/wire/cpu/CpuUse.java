package io.lambdadispatcher.wire.cpu;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * A reading of the processor time that may be used and was used: by the nearest control group of
 * this process that has a limit, or by this process and all processors if there is none. The
 * control group contains the processes that this one has started. Any thread.
 *
 * <p>If the ECS task has a smaller limit, this limit counts, and the time that the control group of
 * the container has used. Other containers of the task are not seen.
 *
 * @param source whose time it is. Only readings with the same source can be compared
 * @param processors the limit, such as 0.5
 * @param usedNanos processor time used so far; 0 = not known
 * @param throttledNanos time for which the limit has stopped threads; -1 = not known, for example
 *     because there is no limit
 * @param stoppedNanos total length of the periods in which the limit has stopped threads
 */
public record CpuUse(String source, double processors, long usedNanos, long throttledNanos, long stoppedNanos) {
    private static final Path MOUNT = Path.of("/sys/fs/cgroup");
    private static final Path MEMBERSHIPS = Path.of("/proc/self/cgroup");

    /** Version 2 has one tree. Version 1 has one for each kind of limit, or joins two of them. */
    private static final List<String> TREES = List.of("", "cpu", "cpu,cpuacct");

    /** Reads a few small files. The limit of an ECS task does not count. */
    public static CpuUse now() {
        return read(MOUNT, MEMBERSHIPS, TaskLimit.NONE);
    }

    /** Reads a few small files. The limit of the ECS task counts soon after the first call. */
    public static CpuUse nowInTask() {
        return read(MOUNT, MEMBERSHIPS, TaskLimit.own().processors());
    }

    /** Returns the processor time of this process alone; 0 = not known. */
    public static long processNanos() {
        return ProcessHandle.current()
                .info()
                .totalCpuDuration()
                .map(Duration::toNanos)
                .orElse(0L);
    }

    static CpuUse read(Path mount, Path memberships, double task) {
        try {
            List<String> lines = Files.exists(memberships) ? Files.readAllLines(memberships) : List.of();
            for (String tree : TREES) {
                CpuUse found = nearest(mount, tree, lines, task);
                if (found != null) {
                    return found;
                }
            }
        } catch (IOException | IllegalArgumentException | IndexOutOfBoundsException e) {
            // A limit that cannot be read counts as none.
        }
        return new CpuUse("process", Runtime.getRuntime().availableProcessors(), processNanos(), -1, 0).within(task);
    }

    private CpuUse within(double task) {
        return new CpuUse(source, Math.min(processors, task), usedNanos, throttledNanos, stoppedNanos);
    }

    private static @Nullable CpuUse nearest(Path mount, String tree, List<String> lines, double task)
            throws IOException {
        String own = membership(lines, tree.isEmpty() ? "" : "cpu");
        Path root = mount.resolve(tree);
        CpuUse first = null;
        // A container may see the name that its group has outside: then there is no such directory.
        for (Path group = inside(root, own); group != null && group.startsWith(root); group = group.getParent()) {
            CpuUse use = null;
            if (Files.exists(group.resolve("cpu.max"))) {
                use = version2(group, task);
            } else if (Files.exists(group.resolve("cpu.cfs_quota_us"))) {
                boolean accounted = own.equals(membership(lines, "cpuacct"));
                use = version1(
                        group, task, accounted ? mount.resolve("cpuacct").resolve(root.relativize(group)) : group);
            }
            if (use != null && use.throttledNanos >= 0 && use.processors <= task) {
                return use;
            }
            first = first == null ? use : first;
        }
        return first == null || task == TaskLimit.NONE ? null : first.within(task);
    }

    /** Returns the name of the process's group in the tree of a controller; empty = version 2. */
    private static String membership(List<String> lines, String controller) {
        for (String line : lines) {
            String[] parts = line.split(":", 3);
            if (List.of(parts[1].split(",")).contains(controller)) {
                return parts[2];
            }
        }
        return "/";
    }

    private static Path inside(Path root, String group) {
        Path path = root.resolve(group.substring(1)).normalize();
        return path.startsWith(root) ? path : root;
    }

    /** @return null if neither the group nor the task has a limit */
    private static @Nullable CpuUse version2(Path group, double task) throws IOException {
        String[] max = Files.readString(group.resolve("cpu.max")).strip().split(" ");
        if (max[0].equals("max") && task == TaskLimit.NONE) {
            return null;
        }
        Map<String, Long> stat = stat(group);
        return of(
                group,
                max[0].equals("max") ? -1 : Long.parseLong(max[0]),
                Long.parseLong(max[1]),
                nanos(stat.getOrDefault("usage_usec", 0L)),
                nanos(stat.getOrDefault("throttled_usec", 0L)),
                stat);
    }

    /**
     * @param accounts the group in the tree of used times, if it has the same processes there
     * @return null if neither the group nor the task has a limit
     */
    private static @Nullable CpuUse version1(Path group, double task, Path accounts) throws IOException {
        long quotaMicros = number(group.resolve("cpu.cfs_quota_us"));
        if (quotaMicros <= 0 && task == TaskLimit.NONE) {
            return null;
        }
        Path joined = group.resolve("cpuacct.usage");
        Path usage = Files.exists(joined) ? joined : accounts.resolve("cpuacct.usage");
        Map<String, Long> stat = stat(group);
        return of(
                group,
                quotaMicros,
                number(group.resolve("cpu.cfs_period_us")),
                Files.exists(usage) ? number(usage) : processNanos(),
                stat.getOrDefault("throttled_time", 0L),
                stat);
    }

    private static CpuUse of(
            Path group, long quotaMicros, long periodMicros, long used, long throttled, Map<String, Long> stat) {
        int all = Runtime.getRuntime().availableProcessors();
        if (quotaMicros <= 0 || periodMicros <= 0) {
            return new CpuUse(group.toString(), all, used, -1, 0);
        }
        double processors = Math.min(all, (double) quotaMicros / periodMicros);
        long stopped = stat.getOrDefault("nr_throttled", 0L) * nanos(periodMicros);
        return new CpuUse(group.toString(), processors, used, throttled, stopped);
    }

    private static Map<String, Long> stat(Path group) throws IOException {
        Map<String, Long> values = new HashMap<>();
        for (String line : Files.readAllLines(group.resolve("cpu.stat"))) {
            String[] words = line.split(" ");
            values.put(words[0], Long.parseLong(words[1]));
        }
        return values;
    }

    private static long number(Path file) throws IOException {
        return Long.parseLong(Files.readString(file).strip());
    }

    private static long nanos(long micros) {
        return TimeUnit.MICROSECONDS.toNanos(micros);
    }

    /**
     * Returns the part of the permitted time that was used since an earlier reading. A period in
     * which the limit stopped threads counts as a full one. Returns NaN if the readings cannot be
     * compared.
     *
     * @param nanos time between the readings
     */
    double shareSince(CpuUse earlier, long nanos) {
        return source.equals(earlier.source) && nanos > 0
                ? Math.max(
                        (usedNanos - earlier.usedNanos) / (processors * nanos),
                        (double) (stoppedNanos - earlier.stoppedNanos) / nanos)
                : Double.NaN;
    }
}
