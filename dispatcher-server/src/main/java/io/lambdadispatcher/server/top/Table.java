package io.lambdadispatcher.server.top;

import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;

/**
 * A table with a title. Columns in which no row has a value are left out.
 *
 * @param title says how many rows there are
 * @param headings of the columns. Those with a leading {@code >} are aligned to the right
 * @param rows the most important row first
 */
record Table(String title, List<String> headings, List<Row> rows) {
    private static final int WIDEST_COLUMN = 44;
    private static final String GAP = "  ";

    /** A row with one cell for each heading. */
    record Row(Line.Style style, List<String> cells) {
        Row(Line.Style style, String... cells) {
            this(style, List.of(cells));
        }
    }

    /** Returns the title and, if there are rows, the headings and at most this number of rows. */
    List<Line> lines(int most) {
        List<Line> lines = new ArrayList<>();
        int shown = Math.min(most, rows.size());
        lines.add(new Line(shown < rows.size() ? title + ", " + shown + " shown" : title, Line.Style.TITLE));
        if (shown == 0) {
            return lines;
        }
        List<Row> visible = rows.subList(0, shown);
        int[] columns = IntStream.range(0, headings.size())
                .filter(column -> visible.stream()
                        .anyMatch(row -> !row.cells().get(column).equals(Members.UNKNOWN)))
                .toArray();
        List<String> names =
                headings.stream().map(name -> name.replace(">", "")).toList();
        int[] widths = new int[headings.size()];
        for (int column : columns) {
            widths[column] = Math.min(
                    WIDEST_COLUMN,
                    IntStream.concat(
                                    IntStream.of(names.get(column).length()),
                                    visible.stream()
                                            .mapToInt(row ->
                                                    row.cells().get(column).length()))
                            .max()
                            .orElse(0));
        }
        lines.add(new Line(line(names, columns, widths), Line.Style.SOFT));
        visible.forEach(row -> lines.add(new Line(line(row.cells(), columns, widths), row.style())));
        return lines;
    }

    private String line(List<String> cells, int[] columns, int[] widths) {
        StringBuilder line = new StringBuilder();
        for (int column : columns) {
            String cell = cells.get(column);
            int width = widths[column];
            String cut = cell.length() <= width ? cell : cell.substring(0, width - 2) + "..";
            String padding = " ".repeat(width - cut.length());
            line.append(line.isEmpty() ? "" : GAP)
                    .append(headings.get(column).startsWith(">") ? padding + cut : cut + padding);
        }
        return line.toString().stripTrailing();
    }
}
