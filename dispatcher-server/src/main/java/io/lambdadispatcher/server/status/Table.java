package io.lambdadispatcher.server.status;

import io.lambdadispatcher.wire.http.PrintableText;
import java.util.List;
import java.util.function.Function;

/**
 * A table as {@code ps} prints it: a line of headings, of which the first one names the table, and
 * a line for each object. Columns in which no row has a value are left out, as are the last columns
 * if the terminal is too narrow, so the first ones are the most important.
 */
record Table(Column... columns) {
    private static final String GAP = "  ";
    private static final String CUT = "..";
    /** Less of a text than this says nothing. */
    private static final int NARROWEST_CUT = 8;

    /**
     * One column.
     *
     * @param number whether it is aligned to the right and is never cut. Other columns take at most
     *     half of the width
     * @param cell returns the text of a row
     */
    record Column(String heading, boolean number, Function<Members, String> cell) {
        static Column text(String heading, String member) {
            return text(heading, row -> row.text(member));
        }

        static Column text(String heading, Function<Members, String> cell) {
            return new Column(heading, false, cell);
        }

        static Column number(String heading, Function<Members, String> cell) {
            return new Column(heading, true, cell);
        }
    }

    /** Appends the table, with an empty line before it. Appends nothing if there are no rows. */
    void append(StringBuilder text, List<Members> rows, int maxRows, int width) {
        if (rows.isEmpty()) {
            return;
        }
        List<Members> shown = rows.subList(0, Math.min(maxRows, rows.size()));
        StringBuilder[] lines = new StringBuilder[shown.size() + 1];
        for (int i = 0; i < lines.length; i++) {
            lines[i] = new StringBuilder();
        }
        int used = 0;
        for (Column column : columns) {
            List<String> cells =
                    shown.stream().map(column.cell).map(Table::ascii).toList();
            if (used > 0 && cells.stream().allMatch(Members.UNKNOWN::equals)) {
                continue;
            }
            int columnWidth = fit(column, cells, used == 0 ? width : width - used - GAP.length(), width / 2);
            if (columnWidth == 0) {
                break;
            }
            used += columnWidth + (used == 0 ? 0 : GAP.length());
            for (int i = 0; i < lines.length; i++) {
                lines[i].append(lines[i].isEmpty() ? "" : GAP)
                        .append(aligned(i == 0 ? column.heading : cells.get(i - 1), columnWidth, column.number));
            }
        }
        text.append('\n');
        for (StringBuilder line : lines) {
            text.append(line.toString().stripTrailing()).append('\n');
        }
        if (shown.size() < rows.size()) {
            text.append(CUT).append(' ').append(rows.size() - shown.size()).append(" more\n");
        }
    }

    /** Returns the width of a column; 0 = it does not fit. */
    private static int fit(Column column, List<String> cells, int room, int most) {
        int least = column.heading.length();
        int widest =
                Math.max(least, cells.stream().mapToInt(String::length).max().orElse(0));
        if (column.number) {
            return widest <= room ? widest : 0;
        }
        int wanted = Math.min(widest, Math.max(least, most));
        return wanted <= room ? wanted : Math.max(least, NARROWEST_CUT) <= room ? room : 0;
    }

    private static String aligned(String cell, int width, boolean right) {
        String cut = cut(cell, width);
        String padding = " ".repeat(width - cut.length());
        return right ? padding + cut : cut + padding;
    }

    static String cut(String text, int width) {
        return text.length() <= width ? text : text.substring(0, width - CUT.length()) + CUT;
    }

    /**
     * Returns the text in printable ASCII, so that it cannot control the terminal, and that a
     * character is a column. Other characters are escaped as in JSON.
     */
    static String ascii(String text) {
        StringBuilder ascii = new StringBuilder();
        PrintableText.of(text).chars().forEach(c -> {
            if (c < 0x7F) {
                ascii.append((char) c);
            } else {
                PrintableText.appendEscape(ascii, (char) c);
            }
        });
        return ascii.toString();
    }
}
