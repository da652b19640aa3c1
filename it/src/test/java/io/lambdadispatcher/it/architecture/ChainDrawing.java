package io.lambdadispatcher.it.architecture;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/** Draws stages below each other, with an arrow to the next one. Lengths are in pixels. */
final class ChainDrawing {
    private static final int WIDTH = 1000;
    private static final int PADDING = 20;
    private static final int NAME_WIDTH = 190;
    private static final int LINE_HEIGHT = 17;
    private static final int GAP = 26;
    private static final int OR_GAP = 8;
    private static final int LINE_CHARS = 102;
    private static final int MIDDLE = PADDING + NAME_WIDTH / 2;

    /** What a stage belongs to. It is the class of its box in the picture. */
    enum Kind {
        PROGRAM,
        POLICY,
        OWN
    }

    private final StringBuilder stages = new StringBuilder();
    private final StringBuilder arrows = new StringBuilder();
    private int y = PADDING;
    private int arrowFrom;
    private boolean or;

    /** Adds where the chain begins or ends. */
    void end(String name) {
        arrow();
        stages.append(format("<text class=\"end\" x=\"%d\" y=\"%d\">%s</text>\n", MIDDLE, y + LINE_HEIGHT, name));
        y += LINE_HEIGHT + 6;
        arrowFrom = y;
    }

    void stage(Kind kind, String name, String about) {
        List<String> lines = lines(about);
        int height = Math.max(1, lines.size()) * LINE_HEIGHT + 12;
        if (or) {
            y += OR_GAP;
        } else {
            arrow();
        }
        or = false;
        stages.append(format(
                "<rect class=\"%s\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" rx=\"5\"/>\n",
                kind.name().toLowerCase(Locale.ROOT), PADDING, y, NAME_WIDTH, height));
        stages.append(format("<text class=\"name\" x=\"%d\" y=\"%d\">%s</text>\n", MIDDLE, y + height / 2 + 4, name));
        for (int i = 0; i < lines.size(); i++) {
            stages.append(format(
                    "<text x=\"%d\" y=\"%d\">%s</text>\n",
                    PADDING + NAME_WIDTH + 16, y + LINE_HEIGHT * (i + 1) + 1, lines.get(i)));
        }
        y += height;
        arrowFrom = y;
    }

    /** The next stage stands in place of the last one. */
    void or() {
        or = true;
    }

    private void arrow() {
        if (arrowFrom > 0) {
            y += GAP;
            arrows.append(format(
                    "<path class=\"arrow\" d=\"M%d %d V%d\" marker-end=\"url(#head)\"/>\n", MIDDLE, arrowFrom, y - 2));
        }
    }

    private static List<String> lines(String text) {
        List<String> lines = new ArrayList<>();
        StringBuilder line = new StringBuilder();
        for (String word : text.replace("&", "&amp;").replace("<", "&lt;").split(" ")) {
            if (line.length() + word.length() >= LINE_CHARS) {
                lines.add(line.toString());
                line.setLength(0);
            }
            line.append(line.length() == 0 ? "" : " ").append(word);
        }
        lines.add(line.toString());
        return lines;
    }

    String page() {
        return format(
                        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" role=\"img\" aria-labelledby=\"t d\">\n",
                        WIDTH, y + PADDING)
                + """
                <title id="t">The stages that a request passes</title>
                <desc id="d">Each box is a stage between the client and the worker. A request passes them from the top, and its response passes them from the bottom.</desc>
                <style>
                  text { font: 12px ui-monospace, Menlo, Consolas, monospace; fill: #1f2328; }
                  .name, .end { text-anchor: middle; }
                  .end { font-weight: bold; font-size: 14px; }
                  .program { fill: #dafbe1; stroke: #1a7f37; }
                  .policy { fill: #ddf4ff; stroke: #0969da; }
                  .own { fill: #f6f8fa; stroke: #8c959f; }
                  .arrow { fill: none; stroke: #57606a; stroke-width: 1.5; }
                  #head path { fill: #57606a; }
                  @media (prefers-color-scheme: dark) {
                    text { fill: #e6edf3; }
                    .program { fill: #12261e; stroke: #3fb950; }
                    .policy { fill: #0c2d6b; stroke: #58a6ff; }
                    .own { fill: #161b22; stroke: #6e7681; }
                    .arrow { stroke: #8b949e; }
                    #head path { fill: #8b949e; }
                  }
                </style>
                <defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto" markerUnits="userSpaceOnUse"><path d="M0 0 L8 4 L0 8 z"/></marker></defs>
                """
                + arrows + stages + "</svg>\n";
    }

    private static String format(String pattern, Object... values) {
        return String.format(Locale.ROOT, pattern, values);
    }
}
