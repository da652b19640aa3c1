package io.lambdadispatcher.aws;

import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Checks the name of a Lambda function: a name, a partial ARN or a complete ARN, each with or
 * without {@code :version} or {@code :alias} (AWS Lambda API reference, Invoke, FunctionName).
 */
public final class FunctionName {
    private static final int LONGEST = 170;
    private static final Pattern FORM = Pattern.compile("(arn:aws[a-zA-Z-]*:lambda:[a-z0-9-]+:)?(\\d{12}:)?(function:)?"
            + "[a-zA-Z0-9-_.]+(:(\\$LATEST|[a-zA-Z0-9-_]+))?");
    private static final int QUALIFIER = 5;
    private static final int LONGEST_QUALIFIER = 128;
    private static final Pattern QUALIFIER_FORM = Pattern.compile("[a-zA-Z0-9-_]+");
    private static final Pattern VERSION = Pattern.compile("\\$LATEST|\\d+");

    private FunctionName() {}

    /**
     * Returns whether a text can name a Lambda function, with at most 170 characters. Does not ask
     * AWS.
     */
    public static boolean isOne(String name) {
        return name.length() <= LONGEST && FORM.matcher(name).matches();
    }

    /** Returns whether a text can follow the name of a function, as a version or an alias. */
    static boolean canQualify(String text) {
        return text.length() <= LONGEST_QUALIFIER
                && QUALIFIER_FORM.matcher(text).matches();
    }

    /** Returns whether a qualifier is a version, and no alias. */
    static boolean isVersion(String qualifier) {
        return VERSION.matcher(qualifier).matches();
    }

    /** Returns the name without {@code :version} or {@code :alias}. */
    static String unqualified(String name) {
        String qualifier = qualifier(name);
        return qualifier == null ? name : name.substring(0, name.length() - qualifier.length() - 1);
    }

    /** Returns the alias in the name, or {@code null} if it names a version, or none. */
    static @Nullable String alias(String name) {
        String qualifier = qualifier(name);
        return qualifier == null || isVersion(qualifier) ? null : qualifier;
    }

    private static @Nullable String qualifier(String name) {
        Matcher matcher = FORM.matcher(name);
        return matcher.matches() ? matcher.group(QUALIFIER) : null;
    }

    /** @throws IllegalArgumentException if {@code name} cannot name a Lambda function */
    static String verified(String name) {
        if (!isOne(name)) {
            throw new IllegalArgumentException("Lambda function: '" + name + "', expected a name or an ARN of at most "
                    + LONGEST + " characters, with or without :alias or :version");
        }
        return name;
    }
}
