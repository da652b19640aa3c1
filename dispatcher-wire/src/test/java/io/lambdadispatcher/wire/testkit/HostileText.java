package io.lambdadispatcher.wire.testkit;

import java.util.Random;
import java.util.regex.Pattern;

/** Texts that try to add lines to a log, to control a terminal, or to hide. Any thread. */
public final class HostileText {
    /** One of each kind: C0, DEL, C1, separators, bidirectional controls, tags, half a pair. */
    public static final String ALL_KINDS = "a\nb\r\nc\u001b[31m\0\t\u007f\u0085\u009b\u2028\u2029\u202e\u2066\u200b"
            + "\ufeff\ud83e\udd80 \udb40\udc41\ud800é漢\\u000a\"%n{}";

    private static final Pattern UNPRINTABLE = Pattern.compile("[\\p{Cc}\\p{Cf}\\p{Cs}\\p{Zl}\\p{Zp}]");
    private static final int MOST_CHARS = 60;

    private HostileText() {}

    /** Returns whether Unicode's categories say that each character can be seen, or is a space. */
    public static boolean isPrintable(CharSequence text) {
        return !UNPRINTABLE.matcher(text).find();
    }

    /** Returns up to 60 UTF-16 units, about half of which are not printable. */
    public static String random(Random random) {
        StringBuilder text = new StringBuilder();
        for (int i = random.nextInt(MOST_CHARS); i > 0; i--) {
            text.append(
                    switch (random.nextInt(5)) {
                        case 0 -> ALL_KINDS.charAt(random.nextInt(ALL_KINDS.length()));
                        case 1 -> (char) random.nextInt(0xA0);
                        case 2 -> (char) (0x2000 + random.nextInt(0x70));
                        case 3 -> (char) random.nextInt(0x10000);
                        default -> (char) ('a' + random.nextInt(26));
                    });
        }
        return text.toString();
    }
}
