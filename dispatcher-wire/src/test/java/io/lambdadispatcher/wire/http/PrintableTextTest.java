package io.lambdadispatcher.wire.http;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.wire.testkit.HostileText;
import java.util.Random;
import java.util.regex.MatchResult;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

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
    void should_cut_what_is_too_long() {
        assertThat(PrintableText.of("abc\n", 4)).isEqualTo("abc\\u000a");
        assertThat(PrintableText.of("abc\nd", 4)).isEqualTo("abc\\u000a...");
        assertThat(PrintableText.of("abc\ud83e\udd80", 4)).as("half a pair").isEqualTo("abc\ufffd...");
        assertThat(PrintableText.startOf(new IllegalStateException("\n".repeat(5_000))))
                .hasSizeLessThan(3_010)
                .startsWith("java.lang.IllegalStateException: \\u000a")
                .endsWith("\\u000a...");
    }
}
