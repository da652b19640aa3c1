package io.lambdadispatcher.core.internal.capacity.simulate;

import io.lambdadispatcher.core.internal.capacity.simulate.Timeline.Look;
import java.util.List;
import java.util.Locale;
import java.util.function.ToDoubleFunction;

/**
 * Draws three charts over the same time as one SVG: workers, queued requests and arrivals. Each
 * column shows the highest value of its interval.
 */
final class Plot {
    private static final int WIDTH = 1000;
    private static final int LEFT = 70;
    private static final int HEIGHT = 200;
    private static final int GAP = 50;

    private final String title;
    private final List<Look> looks;
    private final double seconds;
    private final StringBuilder svg = new StringBuilder();
    private int top = GAP;

    private Plot(String title, List<Look> looks) {
        this.title = title;
        this.looks = looks;
        this.seconds =
                looks.isEmpty() ? 1 : Math.max(1e-3, looks.get(looks.size() - 1).seconds());
    }

    /** The curve of a chart. */
    private record Curve(String name, String colour, double[] columns) {}

    static String of(String title, Timeline timeline) {
        return new Plot(title, timeline.counted()).draw();
    }

    private String draw() {
        svg.append("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" + (LEFT + WIDTH + 30) + "\" height=\""
                + (GAP + 3 * (HEIGHT + GAP)) + "\" font-family=\"sans-serif\" font-size=\"12\">\n"
                + "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n");
        text(LEFT, 18, title, "black");
        chart(List.of(
                new Curve("workers there", "#bbbbbb", columns(Look::alive)),
                new Curve("wanted", "#d62728", columns(Look::wanted)),
                new Curve("ready", "#1f77b4", columns(Look::ready)),
                new Curve("draining", "#9467bd", columns(Look::draining))));
        chart(List.of(
                new Curve("pending", "#ff7f0e", columns(Look::pending)),
                new Curve("busy", "#2ca02c", columns(Look::busy))));
        chart(List.of(new Curve("arrivals per second", "#17becf", arrivals())));
        return svg.append("</svg>\n").toString();
    }

    private double[] columns(ToDoubleFunction<Look> value) {
        double[] columns = new double[WIDTH + 1];
        int filled = 0;
        double last = 0;
        for (Look look : looks) {
            int column = column(look);
            while (filled < column) {
                columns[++filled] = last;
            }
            last = value.applyAsDouble(look);
            columns[column] = Math.max(columns[column], last);
        }
        return columns;
    }

    private double[] arrivals() {
        double[] columns = new double[WIDTH + 1];
        double widthSeconds = Math.max(1, seconds / WIDTH);
        Look from = null;
        int filled = 0;
        for (Look look : looks) {
            if (from == null) {
                from = look;
            } else if (look.seconds() - from.seconds() >= widthSeconds) {
                double rate = (look.arrived() - from.arrived()) / (look.seconds() - from.seconds());
                while (filled <= column(look)) {
                    columns[filled++] = rate;
                }
                from = look;
            }
        }
        return columns;
    }

    private int column(Look look) {
        return (int) Math.min(WIDTH, look.seconds() / seconds * WIDTH);
    }

    private void chart(List<Curve> curves) {
        double most = 1;
        for (Curve curve : curves) {
            for (double value : curve.columns) {
                most = Math.max(most, value);
            }
        }
        axes(most);
        int legend = LEFT + 10;
        for (Curve curve : curves) {
            line(curve, most);
            text(legend, top - 6, curve.name, curve.colour);
            legend += 10 + 8 * curve.name.length();
        }
        top += HEIGHT + GAP;
    }

    private void axes(double most) {
        for (int i = 0; i <= 4; i++) {
            int y = top + HEIGHT - HEIGHT * i / 4;
            svg.append("<path d=\"M" + LEFT + " " + y + "h" + WIDTH + "\" stroke=\"#e0e0e0\"/>\n");
            text(4, y + 4, String.format(Locale.ROOT, most < 10 ? "%.1f" : "%,.0f", most * i / 4), "black");
        }
        for (int i = 0; i <= 5; i++) {
            text(LEFT + WIDTH * i / 5 - 10, top + HEIGHT + 16, clock(seconds * i / 5), "black");
        }
    }

    private static String clock(double seconds) {
        if (seconds >= 7200) {
            return String.format(Locale.ROOT, "%.1f h", seconds / 3600);
        }
        return String.format(Locale.ROOT, seconds < 10 ? "%.1f s" : "%.0f s", seconds);
    }

    private void line(Curve curve, double most) {
        svg.append("<path fill=\"none\" stroke=\"" + curve.colour + "\" d=\"");
        for (int i = 0; i < curve.columns.length; i++) {
            double y = top + HEIGHT - HEIGHT * curve.columns[i] / most;
            svg.append(i == 0 ? 'M' : 'L').append(String.format(Locale.ROOT, "%d %.1f", LEFT + i, y));
        }
        svg.append("\"/>\n");
    }

    private void text(int x, int y, String text, String colour) {
        svg.append("<text x=\"" + x + "\" y=\"" + y + "\" fill=\"" + colour + "\">" + text + "</text>\n");
    }
}
