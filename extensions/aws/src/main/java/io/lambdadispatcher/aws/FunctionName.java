package io.lambdadispatcher.aws;

import java.util.regex.Pattern;

/**
 * Checks the name of a Lambda function: a name, a partial ARN or a complete ARN, each with or
 * without {@code :version} or {@code :alias} (AWS Lambda API reference, Invoke, FunctionName).
 */
public final class FunctionName {
    private static final int LONGEST = 170;
    private static final Pattern FORM = Pattern.compile("(arn:aws[a-zA-Z-]*:lambda:[a-z0-9-]+:)?(\\d{12}:)?(function:)?"
            + "[a-zA-Z0-9-_.]+(:(\\$LATEST|[a-zA-Z0-9-_]+))?");

    private FunctionName() {}

    /**
     * Returns whether a text can name a Lambda function, with at most 170 characters. Does not ask
     * AWS.
     */
    public static boolean isOne(String name) {
        return name.length() <= LONGEST && FORM.matcher(name).matches();
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
