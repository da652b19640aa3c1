package io.lambdadispatcher.wire.cpu;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.lambdadispatcher.wire.testkit.EachRelease;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

@EachRelease
class CpuUseTest {
    private static final String SEPARATE = "1:cpu:/a/b\n2:cpuacct:/a/b\n3:memory:/c\n";

    @TempDir
    private Path mount;

    private void write(String file, String text) throws IOException {
        Path path = mount.resolve(file);
        Files.createDirectories(path.getParent());
        Files.writeString(path, text);
    }

    private CpuUse read(String memberships) throws IOException {
        return read(memberships, TaskLimit.NONE);
    }

    private CpuUse read(String memberships, double task) throws IOException {
        write("self", memberships);
        return CpuUse.read(mount, mount.resolve("self"), task);
    }

    private static void assertNoLimit(CpuUse use) {
        assertThat(use.source()).isEqualTo("process");
        assertThat(use.processors()).isEqualTo(Runtime.getRuntime().availableProcessors());
        assertThat(use.usedNanos()).isPositive();
        assertThat(use.throttledNanos()).isEqualTo(-1);
    }

    private void version1(String tree, String group) throws IOException {
        write(tree + group + "/cpu.cfs_quota_us", "25000\n");
        write(tree + group + "/cpu.cfs_period_us", "50000\n");
        write(tree + group + "/cpu.stat", "nr_periods 40\nnr_throttled 20\nthrottled_time 1234567890\n");
    }

    private void version2(String group, String max) throws IOException {
        write(group + "/cpu.max", max + "\n");
        write(group + "/cpu.stat", "usage_usec 7000\nnr_throttled 20\nthrottled_usec 98765\n");
    }

    @Test
    void should_read_a_limit_of_version_2() throws IOException {
        version2(".", "50000 100000");
        assertThat(read("0::/\n")).isEqualTo(new CpuUse(mount.toString(), 0.5, 7_000_000, 98_765_000, 2_000_000_000L));
    }

    /** As systemd does it: the service has no limit, but its slice has one. */
    @Test
    void should_read_the_nearest_limit() throws IOException {
        version2("a", "50000 100000");
        version2("a/b", "max 100000");
        version2(".", "20000 100000");
        assertThat(read("0::/a/b\n").source()).isEqualTo(mount.resolve("a").toString());
    }

    @Test
    void should_read_a_limit_of_version_1_whose_trees_are_joined() throws IOException {
        version1("cpu,cpuacct", "/a/b");
        write("cpu,cpuacct/a/b/cpuacct.usage", "77000\n");
        assertThat(read("4:cpu,cpuacct:/a/b\n"))
                .isEqualTo(new CpuUse(
                        mount.resolve("cpu,cpuacct/a/b").toString(), 0.5, 77_000, 1_234_567_890, 1_000_000_000));
    }

    @Test
    void should_read_a_limit_of_version_1_whose_trees_are_separate() throws IOException {
        version1("cpu", "/a");
        write("cpuacct/a/cpuacct.usage", "77000\n");
        write("cpuacct/a/b/cpuacct.usage", "5\n");
        write("cpuacct/cpuacct.usage", "6\n");
        assertThat(read(SEPARATE).usedNanos()).isEqualTo(77_000);
    }

    /** The process is in the root of the other tree, with all processes of the machine. */
    @Test
    void should_not_count_processes_that_have_another_limit() throws IOException {
        version1("cpu", "/a/b");
        write("cpuacct/a/b/cpuacct.usage", "77000\n");
        write("cpuacct/cpuacct.usage", "88000\n");
        CpuUse use = read("1:cpu:/a/b\n2:cpuacct:/\n");
        assertThat(use.processors()).isEqualTo(0.5);
        assertThat(use.usedNanos()).isGreaterThan(1_000_000);
    }

    /** Without a namespace of its own, a container sees the name that its group has outside. */
    @ParameterizedTest
    @ValueSource(strings = {"0::/docker/0a1b\n", "0::/../..\n", "", "1:name=systemd:/x\n"})
    void should_read_the_limit_of_a_container_that_does_not_know_its_group(String memberships) throws IOException {
        version2(".", "50000 100000");
        assertThat(read(memberships).processors()).isEqualTo(0.5);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {"max 100000", "max", "", "50000", "half 100000", "50000 0", "-1 100000", "99999999999999999999 1"
            })
    void should_use_the_process_without_a_limit_that_can_be_read(String max) throws IOException {
        version2(".", max);
        assertNoLimit(read("0::/\n"));
    }

    @Test
    void should_use_the_process_without_control_groups() throws IOException {
        assertNoLimit(CpuUse.read(mount, mount.resolve("none"), TaskLimit.NONE));
        assertNoLimit(read("1:cpu:/\n"));
        write("cpu/cpu.cfs_quota_us", "-1\n");
        write("cpu/cpu.cfs_period_us", "100000\n");
        write("cpu/cpu.stat", "nr_periods 0\nnr_throttled 0\nthrottled_time 0\n");
        assertNoLimit(read("1:cpu:/\n"));
        assertNoLimit(read("not a membership\n"));
    }

    @Test
    void should_use_the_process_if_a_file_is_malformed() throws IOException {
        version2(".", "50000 100000");
        write("cpu.stat", "usage_usec many\n");
        assertNoLimit(read("0::/\n"));
        Files.delete(mount.resolve("cpu.stat"));
        assertNoLimit(read("0::/\n"));
    }

    /** As in a container of a task on Fargate, which may also contain a web application. */
    @Test
    void should_take_the_limit_of_the_task_and_the_time_of_the_container() throws IOException {
        version2(".", "max 100000");
        assertThat(read("0::/\n", 0.25)).isEqualTo(new CpuUse(mount.toString(), 0.25, 7_000_000, -1, 0));
    }

    @Test
    void should_take_the_limit_of_the_task_and_the_time_of_the_container_of_version_1() throws IOException {
        version1("cpu,cpuacct", "");
        write("cpu,cpuacct/cpu.cfs_quota_us", "-1\n");
        write("cpu,cpuacct/cpuacct.usage", "77000\n");
        assertThat(read("4:cpu,cpuacct:/ecs/task/container\n", 0.25))
                .isEqualTo(new CpuUse(mount.resolve("cpu,cpuacct").toString(), 0.25, 77_000, -1, 0));
    }

    @ParameterizedTest
    @CsvSource({"0.25, 0.25", "0.5, 0.5", "4, 0.5"})
    void should_take_the_smaller_limit_of_the_task_and_the_container(double task, double smaller) throws IOException {
        version2(".", "50000 100000");
        assertThat(read("0::/\n", task))
                .isEqualTo(new CpuUse(mount.toString(), smaller, 7_000_000, 98_765_000, 2_000_000_000L));
    }

    /** The group of the task also contains its other containers, and says what was throttled. */
    @Test
    void should_prefer_the_group_of_the_task_if_it_can_be_seen() throws IOException {
        version2("ecs/task", "25000 100000");
        version2("ecs/task/container", "max 100000");
        CpuUse use = read("0::/ecs/task/container\n", 0.25);
        assertThat(use.source()).isEqualTo(mount.resolve("ecs/task").toString());
        assertThat(use.throttledNanos()).isPositive();
    }

    @Test
    void should_take_the_limit_of_the_task_and_the_time_of_the_process_without_control_groups() throws IOException {
        CpuUse use = read("", 0.25);
        assertThat(use.source()).isEqualTo("process");
        assertThat(use.processors()).isEqualTo(0.25);
        assertThat(read("", 1_000)).extracting(CpuUse::processors).isEqualTo((double)
                Runtime.getRuntime().availableProcessors());
    }

    @Test
    void should_take_fewer_requests_in_a_task_whose_time_is_used_up() throws IOException {
        CpuLimit inTask = new CpuLimit(100);
        CpuLimit alone = new CpuLimit(100);
        for (int second = 1; second <= 2; second++) {
            long nanos = TimeUnit.SECONDS.toNanos(second);
            version2(".", "max 100000");
            write("cpu.stat", "usage_usec " + second * 250_000 + "\n");
            inTask.onPeriod(nanos, read("0::/\n", 0.25));
            write("cpu.max", "100000 100000\n");
            alone.onPeriod(nanos, read("0::/\n"));
        }
        assertThat(inTask.value()).isEqualTo(90);
        assertThat(alone.value()).isEqualTo(100);
    }

    /** Some kernels stop threads before the whole quota is used. */
    @Test
    void should_count_a_period_with_stopped_threads_as_full() {
        CpuUse before = new CpuUse("g", 0.5, 1_000, 0, 0);
        assertThat(new CpuUse("g", 0.5, 1_300, 0, 100).shareSince(before, 1_000))
                .isEqualTo(0.6, within(1e-9));
        assertThat(new CpuUse("g", 0.5, 1_300, 0, 700).shareSince(before, 1_000))
                .isEqualTo(0.7, within(1e-9));
    }

    @Test
    void should_not_compare_readings_of_different_groups() {
        CpuUse before = new CpuUse("g", 0.5, 1_000, 0, 0);
        assertThat(new CpuUse("process", 2, 9_000, -1, 0).shareSince(before, 1_000))
                .isNaN();
        assertThat(before.shareSince(before, 0)).isNaN();
    }

    @Test
    void should_see_what_this_process_uses() {
        long begin = CpuUse.processNanos();
        CpuUse first = CpuUse.now();
        while (CpuUse.processNanos() < begin + 50_000_000) {
            Thread.onSpinWait();
        }
        assertThat(CpuUse.now().usedNanos()).isGreaterThan(first.usedNanos());
    }
}
