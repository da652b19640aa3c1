package io.lambdadispatcher.wire.http;

import io.netty.util.AsciiString;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.Predicate;

/**
 * A fixed set of header names in lower case. A lookup compares only names of the same length and
 * allocates nothing. Immutable. Any thread.
 */
public final class NameSet {
    private final AsciiString[][] byLength;

    private NameSet(AsciiString[][] byLength) {
        this.byLength = byLength;
    }

    /** Returns the set of these names. */
    public static NameSet of(CharSequence... names) {
        return of(List.of(names));
    }

    /** Returns the set of these names. */
    public static NameSet of(Iterable<? extends CharSequence> names) {
        List<List<AsciiString>> byLength = new ArrayList<>();
        for (CharSequence name : names) {
            while (byLength.size() <= name.length()) {
                byLength.add(new ArrayList<>());
            }
            byLength.get(name.length()).add(AsciiString.of(name));
        }
        return new NameSet(
                byLength.stream().map(same -> same.toArray(new AsciiString[0])).toArray(AsciiString[][]::new));
    }

    /** Returns one bit for the first letter of each name, see {@link HopByHop#firstLetters}. */
    public long firstLetters() {
        return firstLetters(name -> true);
    }

    /** Returns one bit for the first letter of each name that has a {@code -}. */
    long markedLetters() {
        return firstLetters(name -> name.indexOf('-', 0) >= 0);
    }

    private long firstLetters(Predicate<AsciiString> of) {
        return Arrays.stream(byLength)
                .flatMap(Arrays::stream)
                .filter(of)
                .mapToLong(HopByHop::firstLetter)
                .reduce(0, (some, other) -> some | other);
    }

    /**
     * Returns whether an application can take {@code name} for one of the set, see {@link
     * HeaderSyntax#passesFor}.
     */
    public boolean containsLike(CharSequence name) {
        int length = name.length();
        if (length >= byLength.length) {
            return false;
        }
        for (AsciiString known : byLength[length]) {
            if (HeaderSyntax.passesFor(name, known)) {
                return true;
            }
        }
        return false;
    }

    /** Returns whether the set contains {@code name}, which must be in lower case. */
    public boolean contains(CharSequence name) {
        int length = name.length();
        if (length >= byLength.length) {
            return false;
        }
        for (AsciiString known : byLength[length]) {
            if (AsciiString.contentEquals(known, name)) {
                return true;
            }
        }
        return false;
    }
}
