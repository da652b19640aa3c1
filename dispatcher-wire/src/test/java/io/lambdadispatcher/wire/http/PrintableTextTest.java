package io.lambdadispatcher.wire.http;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.wire.testkit.EachRelease;
import io.lambdadispatcher.wire.testkit.HostileText;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.UnknownHostException;
import java.nio.file.NoSuchFileException;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.regex.MatchResult;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

@EachRelease
class PrintableTextTest {
    private static final Pattern MODEL = Pattern.compile("[\\p{Cc}\\p{Cf}\\p{Cs}\\p{Zl}\\p{Zp}]");

    private static String model(String text) {
        return MODEL.matcher(text.replace('\t', ' ')).replaceAll(PrintableTextTest::units);
    }

    private static String units(MatchResult found) {
        if (found.group().length() == 1 && Character.isSurrogate(found.group().charAt(0))) {
            return "\ufffd";
        }
        return Matcher.quoteReplacement(found.group()
                .chars()
                .mapToObj(unit -> String.format("\\u%04x", unit))
                .collect(Collectors.joining()));
    }

    @Test
    void should_escape_what_unicode_says_is_not_printable_and_nothing_else() {
        Random random = new Random(1);
        for (int i = 0; i < 20_000; i++) {
            String text = HostileText.random(random);
            String made = PrintableText.of(text);
            assertThat(made).isEqualTo(model(text)).matches(HostileText::isPrintable);
            assertThat(PrintableText.of(made)).isSameAs(made);
        }
        assertThat(PrintableText.of("a\n\u001b\u0085\t\u202e\udb40\udc41\ud800é漢\ud83e\udd80\\"))
                .isEqualTo("a\\u000a\\u001b\\u0085 \\u202e\\udb40\\udc41\ufffdé漢\ud83e\udd80\\");
    }

    @Test
    void should_say_what_is_counted_in_singular_and_plural() {
        assertThat(List.of(0, 1, 2).stream().map(each -> PrintableText.counted(each, "line was", "lines were")))
                .containsExactly("0 lines were", "1 line was", "2 lines were");
    }

    @Test
    void should_cut_what_is_too_long() {
        assertThat(PrintableText.of("abc\n", 4)).isEqualTo("abc\\u000a");
        assertThat(PrintableText.of("abc\nd", 4)).isEqualTo("abc\\u000a...");
        assertThat(PrintableText.of("abc\ud83e\udd80", 4)).as("half a pair").isEqualTo("abc\ufffd...");
        assertThat(PrintableText.startOf("\n".repeat(5_000)))
                .hasSizeLessThan(3_010)
                .startsWith("\\u000a")
                .endsWith("\\u000a...");
        assertThat(PrintableText.ofFailure("first" + "\n".repeat(5_000) + "last"))
                .hasSizeLessThan(24_000)
                .startsWith("first\\u000a")
                .contains("\\u000a ... \\u000a")
                .endsWith("\\u000alast");
    }

    /** An exception as libraries make them: with its own message, that of its cause, or none. */
    private static Throwable wrapped(Throwable cause, Random random) {
        String padding = "x".repeat(random.nextInt(3) == 0 ? 3_000 : 3);
        return switch (random.nextInt(7)) {
            case 0 -> new IllegalStateException(padding + " does not work", cause);
            case 1 -> new CompletionException(cause);
            case 2 -> new IllegalArgumentException((String) null, cause);
            case 3 -> new UncheckedIOException(new IOException("/some/file", cause));
            case 4 -> new IllegalStateException("failed: " + cause.getMessage(), cause);
            case 5 -> new IllegalStateException(padding + " failed (" + cause + "), then " + padding, cause);
            default -> new ExecutionException(padding, cause);
        };
    }

    @Test
    void should_always_tell_the_root_cause_of_a_failure_once() {
        Random random = new Random(1);
        List<Throwable> roots = List.of(
                new IllegalStateException("the root of it"),
                new NoSuchFileException("/a/file"),
                new UnknownHostException("a.example"),
                new NoSuchMethodError("'int a.B.c()'"),
                new IOException());
        for (int i = 0; i < 2_000; i++) {
            Throwable root = roots.get(random.nextInt(roots.size()));
            Throwable failure = root;
            for (int depth = random.nextInt(5); depth > 0; depth--) {
                failure = wrapped(failure, random);
            }
            boolean sentence = root.getMessage() != null && root.getMessage().contains(" ") && !(root instanceof Error);
            assertThat(PrintableText.ofFailure(failure))
                    .hasSizeLessThan(4_001)
                    .contains(sentence ? root.getMessage() : root.toString());
            assertThat(PrintableText.startOf(failure))
                    .hasSizeLessThan(4_001)
                    .startsWith(failure.getClass().getName())
                    .contains(sentence ? root.getMessage() : root.toString());
        }
        Throwable root = new IllegalStateException("the root of it");
        assertThat(PrintableText.ofFailure(new CompletionException(new IOException("sending failed", root))))
                .isEqualTo("sending failed: java.lang.IllegalStateException: the root of it");
        assertThat(PrintableText.ofFailure(new IOException("sending failed: the root of it", root)))
                .isEqualTo("sending failed: the root of it");
    }
}
