package io.lambdadispatcher.worker.internal.child;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.AppenderBase;
import io.lambdadispatcher.wire.testkit.Await;
import io.lambdadispatcher.wire.testkit.EachRelease;
import java.io.ByteArrayInputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.DisabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.slf4j.LoggerFactory;

/** Runs real processes. */
@EachRelease
@Timeout(180)
@DisabledOnOs(value = OS.WINDOWS, disabledReason = "the children are scripts for a POSIX shell")
class ChildTest {
    private static final Duration LONG = Duration.ofSeconds(30);
    private static final Duration SHORT = Duration.ofMillis(20);

    /** Lines that were logged, and calls of the listener. */
    private final BlockingQueue<String> lines = new LinkedBlockingQueue<>();

    private final BlockingQueue<Long> started = new LinkedBlockingQueue<>();
    private final BlockingQueue<String> died = new LinkedBlockingQueue<>();
    private final Logger logger = (Logger) LoggerFactory.getLogger(OutputLog.class);
    private final AppenderBase<ILoggingEvent> appender = new AppenderBase<>() {
        @Override
        protected void append(ILoggingEvent event) {
            lines.add(event.getLevel() + " " + event.getFormattedMessage());
        }
    };

    @BeforeEach
    void listen() {
        appender.start();
        logger.setLevel(Level.INFO);
        logger.setAdditive(false);
        logger.addAppender(appender);
    }

    /** Waits for the output of children, so that the next test does not receive it. */
    @AfterEach
    void leave() throws InterruptedException {
        for (Thread thread : Thread.getAllStackTraces().keySet()) {
            if (thread.getName().equals("kid-output")) {
                thread.join(TimeUnit.SECONDS.toMillis(30));
            }
        }
        logger.detachAppender(appender);
        logger.setAdditive(true);
        logger.setLevel(null);
    }

    private Child child(ChildCommand command) {
        return child(command, Duration.ofMillis(1), Duration.ofMillis(4));
    }

    private Child child(ChildCommand command, Duration firstWait, Duration mostWait) {
        return new Child(
                command,
                new ChildListener() {
                    @Override
                    public void onStarted(long pid) {
                        started.add(pid);
                    }

                    @Override
                    public void onDied(String how) {
                        died.add(how);
                    }
                },
                firstWait,
                mostWait);
    }

    private Child shell(String line) {
        return child(ChildCommand.shell("kid", line));
    }

    private static <T> T take(BlockingQueue<T> queue) throws InterruptedException {
        T next = queue.poll(30, TimeUnit.SECONDS);
        assertThat(next).as("within 30 seconds").isNotNull();
        return next;
    }

    private static void await(CompletionStage<Void> stopped) throws Exception {
        stopped.toCompletableFuture().get(30, TimeUnit.SECONDS);
    }

    private static boolean lives(long pid) {
        return ProcessHandle.of(pid).map(ProcessHandle::isAlive).orElse(false);
    }

    private static String program(long pid) {
        return ProcessHandle.of(pid).flatMap(handle -> handle.info().command()).orElse("");
    }

    private static void awaitGone(long pid) throws Exception {
        var handle = ProcessHandle.of(pid);
        if (handle.isPresent()) {
            handle.get().onExit().get(30, TimeUnit.SECONDS);
        }
    }

    @Test
    void should_log_both_outputs_line_by_line_with_its_name() throws Exception {
        // The wait is long, because the next child's output could overtake the last lines of the
        // first.
        Child child =
                child(ChildCommand.shell("kid", "echo one; echo two >&2; printf three; exec sleep 0.5"), LONG, LONG);
        child.start();
        assertThat(take(lines)).isEqualTo("INFO kid: one");
        assertThat(take(lines)).isEqualTo("INFO kid: two");
        assertThat(take(lines)).isEqualTo("INFO kid: three");
        await(child.stop(LONG));
    }

    @Test
    void should_cut_an_endless_line() throws Exception {
        byte[] bytes = ("x".repeat(OutputLog.MOST_LINE_CHARS) + "yy\r\n").getBytes(StandardCharsets.UTF_8);
        new OutputLog("kid", new ByteArrayInputStream(bytes)).run();
        assertThat(take(lines)).hasSize("INFO kid: ".length() + OutputLog.MOST_LINE_CHARS);
        assertThat(take(lines)).isEqualTo("INFO kid: yy");
        assertThat(lines).isEmpty();
    }

    @Test
    void should_change_the_environment_and_the_directory(@TempDir Path directory) throws Exception {
        Child child = child(ChildCommand.shell("kid", "echo \"[$ADDED] [${HOME-none}] $(pwd -P)\"; exec sleep 1000")
                .with("ADDED", "a value")
                .without("HOME")
                .in(directory));
        child.start();
        assertThat(take(lines)).isEqualTo("INFO kid: [a value] [none] " + directory.toRealPath());
        await(child.stop(LONG));
    }

    @Test
    void should_start_again_what_died_and_say_how() throws Exception {
        Child child = shell("exit 3");
        child.start();
        for (int i = 0; i < 4; i++) {
            take(started);
            assertThat(take(died)).isEqualTo("exit code 3");
        }
        await(child.stop(LONG));
    }

    @Test
    void should_start_again_what_was_killed() throws Exception {
        Child child = shell("exec sleep 1000");
        child.start();
        long first = take(started);
        child.kill(first);
        assertThat(take(died)).isEqualTo("exit code 137, signal 9");
        long second = take(started);
        assertThat(second).isNotEqualTo(first);
        child.kill(first);
        await(child.stop(LONG));
        assertThat(died).isEmpty();
        assertThat(lives(second)).isFalse();
    }

    @Test
    void should_wait_longer_each_time_and_shortest_for_the_healthy() throws Exception {
        Child child = new Child(
                ChildCommand.shell("kid", "exit 0"),
                new ChildListener() {
                    @Override
                    public void onStarted(long pid) {
                        started.add(System.nanoTime());
                    }

                    @Override
                    public void onDied(String how) {}
                },
                Duration.ofMillis(20),
                Duration.ofMillis(80));
        child.start();
        long first = take(started);
        take(started);
        take(started);
        long fourth = take(started);
        // At least 20 + 40 + 80 ms.
        assertThat(Duration.ofNanos(fourth - first)).isGreaterThanOrEqualTo(Duration.ofMillis(139));
        await(child.stop(LONG));
    }

    @Test
    void should_say_what_cannot_be_started() throws Exception {
        Child child = child(ChildCommand.of("kid", List.of("true")).in(Path.of("/no/such/directory")));
        child.start();
        assertThat(take(died)).startsWith("cannot start: ").contains("/no/such/directory");
        await(child.stop(LONG));
        assertThat(started).isEmpty();
    }

    @Test
    void should_say_that_a_word_cannot_be_one() throws Exception {
        Child child = child(ChildCommand.of("kid", List.of("true", "a\0b")));
        child.start();
        assertThat(take(died)).startsWith("cannot start: ");
        await(child.stop(LONG));
        assertThat(started).isEmpty();
    }

    @Test
    void should_let_go_what_ends_by_term() throws Exception {
        Child child = shell("trap 'echo bye; exit 0' TERM; echo up; while :; do sleep 0.01; done");
        child.start();
        long pid = take(started);
        assertThat(take(lines)).isEqualTo("INFO kid: up");
        await(child.stop(LONG));
        // The shell also reports the end of its sleep, which got the signal too.
        while (!take(lines).equals("INFO kid: bye")) {}
        assertThat(lives(pid)).isFalse();
        assertThat(died).isEmpty();
        await(child.stop(LONG));
    }

    @Test
    void should_kill_what_does_not_end_by_term() throws Exception {
        Child child = shell("trap '' TERM; echo up; while :; do sleep 0.01; done");
        child.start();
        long pid = take(started);
        take(lines);
        await(child.stop(SHORT));
        assertThat(lives(pid)).isFalse();
    }

    @Test
    void should_end_what_the_child_has_started() throws Exception {
        Child child = shell("sleep 1000 & echo $!; wait");
        child.start();
        long grandchild = takePid();
        await(child.stop(LONG));
        awaitGone(grandchild);
    }

    @Test
    void should_wait_for_what_the_child_has_started() throws Exception {
        Child child = shell("(trap 'sleep 0.2; exit' TERM; echo up; while :; do sleep 0.01; done) & echo $!; wait");
        child.start();
        List<String> said = List.of(take(lines), take(lines));
        long grandchild = said.stream()
                .map(line -> line.substring("INFO kid: ".length()))
                .filter(line -> !line.equals("up"))
                .mapToLong(Long::parseLong)
                .findFirst()
                .orElseThrow();
        await(child.stop(LONG));
        assertThat(lives(grandchild)).isFalse();
    }

    private static void assumeSession() {
        assumeTrue(Leash.wrap(List.of("true")).size() > 1, "setpriv or setsid is not there");
    }

    private long takePid() throws InterruptedException {
        return Long.parseLong(take(lines).substring("INFO kid: ".length()));
    }

    /** The remaining process would occupy the ports that the next child needs. */
    @ParameterizedTest
    @ValueSource(strings = {"sleep 1000 & echo $!; kill -KILL $$", "sleep 1000 & echo $!; exit 3"})
    void should_end_what_a_child_that_died_has_left_behind(String line) throws Exception {
        assumeSession();
        Child child = shell(line);
        child.start();
        long left = takePid();
        take(died);
        awaitGone(left);
        await(child.stop(LONG));
    }

    @Test
    void should_end_what_is_the_childs_no_more() throws Exception {
        assumeSession();
        Child child = shell("(sleep 1000 & echo $!); exec sleep 1000");
        child.start();
        long left = takePid();
        await(child.stop(LONG));
        awaitGone(left);
    }

    @ParameterizedTest
    @ValueSource(strings = {"sleep 1000", "exec sleep 1000", "  sleep 1000 2>/dev/null"})
    void should_be_the_program_itself_where_the_line_has_one(String line) throws Exception {
        Child child = shell(line);
        child.start();
        long pid = take(started);
        // Waits until setpriv and the shell have become the program.
        Await.until("it has become the program", () -> program(pid).endsWith("sleep"));
        await(child.stop(LONG));
    }

    @Test
    void should_take_assignments_before_the_program() throws Exception {
        Child child = shell("GREETING=hello sh -c 'echo $GREETING'");
        child.start();
        assertThat(take(lines)).isEqualTo("INFO kid: hello");
        await(child.stop(LONG));
    }

    @Test
    void should_not_start_after_the_stop() throws Exception {
        Child child = shell("exec sleep 1000");
        await(child.stop(LONG));
        child.start();
        await(child.stop(LONG));
        assertThat(started).isEmpty();
    }

    @ParameterizedTest
    @ValueSource(strings = {"best", "shell"})
    void should_not_outlive_a_worker_that_halts(String leash) throws Exception {
        Process worker = new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-cp",
                        System.getProperty("java.class.path"),
                        Orphaning.class.getName(),
                        leash)
                .start();
        String output = new String(worker.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertThat(output).contains("child=");
        awaitGone(Long.parseLong(output.substring(output.indexOf("child=") + 6)
                .lines()
                .findFirst()
                .orElseThrow()));
    }

    @Test
    void should_refuse_an_empty_command() {
        assertThatThrownBy(() -> ChildCommand.shell("kid", " ")).hasMessageContaining("kid");
        assertThatThrownBy(() -> ChildCommand.of("kid", List.of())).hasMessageContaining("kid");
    }
}
