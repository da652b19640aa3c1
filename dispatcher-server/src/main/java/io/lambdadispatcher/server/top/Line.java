package io.lambdadispatcher.server.top;

/**
 * A line of the screen in one style.
 *
 * @param text printable ASCII only. Paths of requests and the like come from anyone, so they could
 *     otherwise control the terminal
 */
record Line(String text, Style style) {
    /** How a line looks, if the terminal shows colours. */
    enum Style {
        PLAIN(""),
        TITLE("1"),
        SOFT("2"),
        BAD("31"),
        GOOD("32"),
        WARN("33");

        /** The parameter of the control sequence that selects the style. */
        final String code;

        Style(String code) {
            this.code = code;
        }
    }

    static final Line EMPTY = new Line("", Style.PLAIN);

    Line {
        text = printable(text);
    }

    /** Replaces each character that is not printable ASCII, so that one character is one column. */
    static String printable(String text) {
        return text.replaceAll("[^ -~]", "?");
    }

    Line cut(int columns) {
        return text.length() <= columns ? this : new Line(text.substring(0, columns), style);
    }
}
