package io.lambdadispatcher.compression;

import io.lambdadispatcher.wire.http.HeaderSyntax;
import io.netty.util.AsciiString;
import java.util.List;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * Types of responses: {@code application/json}, {@code text/*} or {@code *+json}. As a value of its
 * own in a traffic policy, it replaces {@link CompressionPolicy#types}. Immutable.
 */
public final class MediaTypes {
    private final List<String> types;
    private final List<Pattern> patterns;

    private MediaTypes(List<String> types) {
        this.types = types;
        patterns = types.stream().map(Pattern::of).toList();
    }

    /**
     * Returns these types.
     *
     * @throws IllegalArgumentException if one of them is no type
     */
    public static MediaTypes of(List<String> types) {
        return new MediaTypes(
                types.stream().map(type -> type.toLowerCase(Locale.ROOT)).toList());
    }

    /** Returns the types in lower case. */
    public List<String> types() {
        return types;
    }

    /**
     * Returns whether this type is one of them.
     *
     * @param contentType value of the header, with or without parameters; {@code null} = there is
     *     none, so it is not
     */
    boolean has(@Nullable CharSequence contentType) {
        if (contentType == null) {
            return false;
        }
        int semicolon = AsciiString.indexOf(contentType, ';', 0);
        int end = semicolon < 0 ? contentType.length() : semicolon;
        while (end > 0 && (contentType.charAt(end - 1) == ' ' || contentType.charAt(end - 1) == '\t')) {
            end--;
        }
        for (int i = 0; i < patterns.size(); i++) {
            if (patterns.get(i).matches(contentType, end)) {
                return true;
            }
        }
        return false;
    }

    /**
     * A type, or all types with the same beginning or end.
     *
     * @param fixed the part without the star
     */
    private record Pattern(String fixed, boolean beginning, boolean end) {
        static Pattern of(String type) {
            boolean end = type.startsWith("*");
            boolean beginning = type.endsWith("*");
            String fixed = type.replace("*", "");
            String sample = type.replace("*", end ? "a/b" : "b");
            int slash = sample.indexOf('/');
            if (slash <= 0
                    || !HeaderSyntax.isToken(sample.substring(0, slash))
                    || !HeaderSyntax.isToken(sample.substring(slash + 1))
                    || !(beginning ? fixed.endsWith("/") : !end || fixed.startsWith("+"))) {
                throw new IllegalArgumentException(
                        "types: \"" + type + "\", expected a type such as application/json, text/* or *+json");
            }
            return new Pattern(fixed, beginning, end);
        }

        /** @param length of the type, without parameters */
        boolean matches(CharSequence type, int length) {
            int rest = length - fixed.length();
            int from = end ? rest : 0;
            return (beginning || end ? rest > 0 : rest == 0)
                    && AsciiString.regionMatches(type, true, from, fixed, 0, fixed.length());
        }
    }
}
