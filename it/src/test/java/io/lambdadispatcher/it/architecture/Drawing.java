package io.lambdadispatcher.it.architecture;

import io.lambdadispatcher.it.architecture.Plan.Module;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/**
 * Draws the plan with the dependencies of the code as arrows. Inside a module, an arrow that
 * follows from others is left out. Between modules, there is one arrow for each pair. Lengths are
 * in pixels.
 */
final class Drawing {
    private static final int CHIP_HEIGHT = 26;
    private static final int ROW_GAP = 34;
    private static final int CHIP_GAP = 14;
    private static final int PADDING = 20;
    private static final int TITLE_HEIGHT = 30;
    private static final int MODULE_GAP = 46;
    private static final double CHAR_WIDTH = 7.3;
    private static final double TITLE_CHAR_WIDTH = 8.5;

    private record Box(double x, double y, double width, double height) {
        double middle() {
            return x + width / 2;
        }
    }

    private final Plan plan;
    private final PackageGraph graph;
    private final Map<String, Box> chips = new HashMap<>();
    private final Map<String, Box> modules = new HashMap<>();
    private final StringBuilder floors = new StringBuilder();
    private final StringBuilder names = new StringBuilder();
    private final StringBuilder arrows = new StringBuilder();

    private Drawing(Plan plan, PackageGraph graph) {
        this.plan = plan;
        this.graph = graph;
    }

    static String of(Plan plan, PackageGraph graph) {
        return new Drawing(plan, graph).draw();
    }

    private String draw() {
        double width =
                plan.floors().stream().mapToDouble(Drawing::widthOf).max().orElseThrow() + 2 * PADDING;
        double y = PADDING;
        for (List<Module> floor : plan.floors()) {
            double x = (width - widthOf(floor)) / 2;
            double height = floor.stream().mapToDouble(Drawing::heightOf).max().orElseThrow();
            for (Module module : floor) {
                place(module, new Box(x, y, widthOf(module), height));
                x += widthOf(module) + MODULE_GAP;
            }
            y += height + MODULE_GAP;
        }
        plan.modules().forEach(this::drawArrows);
        return page(width, y - MODULE_GAP + PADDING);
    }

    private static double widthOf(List<Module> floor) {
        return floor.stream().mapToDouble(Drawing::widthOf).sum() + MODULE_GAP * (floor.size() - 1);
    }

    private static double widthOf(Module module) {
        double widest = module.rows().stream()
                .mapToDouble(row -> rowWidth(module, row))
                .max()
                .orElseThrow();
        return Math.max(widest, module.name().length() * TITLE_CHAR_WIDTH) + 2 * PADDING;
    }

    private static double heightOf(Module module) {
        return TITLE_HEIGHT + module.rows().size() * (CHIP_HEIGHT + ROW_GAP) - ROW_GAP + PADDING;
    }

    private static double rowWidth(Module module, List<String> row) {
        return row.stream().mapToDouble(name -> chipWidth(module, name)).sum() + CHIP_GAP * (row.size() - 1);
    }

    private static double chipWidth(Module module, String name) {
        return label(module, name).length() * CHAR_WIDTH + 16;
    }

    private static String label(Module module, String name) {
        return name.equals(".") ? module.root().substring(module.root().lastIndexOf('.') + 1) : name;
    }

    private void place(Module module, Box box) {
        modules.put(module.name(), box);
        floors.append(format(
                "<rect class=\"module\" x=\"%.0f\" y=\"%.0f\" width=\"%.0f\" height=\"%.0f\" rx=\"10\"/>\n",
                box.x, box.y, box.width, box.height));
        floors.append(format(
                "<text class=\"title\" x=\"%.0f\" y=\"%.0f\">%s</text>\n", box.x + 14, box.y + 21, module.name()));
        double y = box.y + TITLE_HEIGHT;
        for (List<String> row : module.rows()) {
            double x = box.x + (box.width - rowWidth(module, row)) / 2;
            for (String name : row) {
                Box chip = new Box(x, y, chipWidth(module, name), CHIP_HEIGHT);
                chips.put(module.fullName(name), chip);
                drawChip(chip, label(module, name), name.startsWith("internal."));
                x += chip.width + CHIP_GAP;
            }
            y += CHIP_HEIGHT + ROW_GAP;
        }
    }

    private void drawChip(Box chip, String label, boolean internal) {
        names.append(format(
                "<rect class=\"%s\" x=\"%.0f\" y=\"%.0f\" width=\"%.0f\" height=\"%.0f\" rx=\"5\"/>\n",
                internal ? "internal" : "public", chip.x, chip.y, chip.width, chip.height));
        names.append(
                format("<text class=\"name\" x=\"%.0f\" y=\"%.0f\">%s</text>\n", chip.middle(), chip.y + 17, label));
    }

    private void drawArrows(Module module) {
        for (String from : plan.packages()) {
            if (module.holds(from)) {
                graph.usedBy(from).keySet().stream()
                        .filter(to -> module.holds(to) && chips.containsKey(to) && !graph.isReachedByOthers(from, to))
                        .forEach(to -> drawArrow(chips.get(from), chips.get(to), "arrow"));
            }
        }
        plan.modules().stream()
                .filter(other -> !other.equals(module) && isDirectlyAbove(module, other))
                .forEach(other -> drawArrow(modules.get(module.name()), modules.get(other.name()), "between"));
    }

    /** Returns whether the module uses the other one, and no module between them does. */
    private boolean isDirectlyAbove(Module module, Module other) {
        return uses(module, other)
                && plan.modules().stream()
                        .noneMatch(via ->
                                !via.equals(module) && !via.equals(other) && uses(module, via) && uses(via, other));
    }

    private boolean uses(Module module, Module other) {
        return graph.packages().stream()
                .filter(module::holds)
                .anyMatch(from -> graph.usedBy(from).keySet().stream().anyMatch(other::holds));
    }

    private void drawArrow(Box from, Box to, String kind) {
        double fromY = from.y + from.height;
        double fromX = Math.max(
                from.x + 20, Math.min(from.x + from.width - 20, kind.equals("between") ? to.middle() : from.middle()));
        double toX = Math.max(to.x + 20, Math.min(to.x + to.width - 20, kind.equals("between") ? fromX : to.middle()));
        double bend = (to.y - fromY) / 2;
        arrows.append(format(
                "<path class=\"%s\" d=\"M%.0f %.0f C%.0f %.0f %.0f %.0f %.0f %.0f\" marker-end=\"url(#head)\"/>\n",
                kind, fromX, fromY, fromX, fromY + bend, toX, to.y - bend, toX, to.y - 2));
    }

    private String page(double width, double height) {
        return format(
                        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %.0f\" role=\"img\" aria-labelledby=\"t d\">\n",
                        width, height)
                + """
                <title id="t">Modules and packages of Lambda Dispatcher</title>
                <desc id="d">Each box is a module, each small box a package; an arrow means "uses". Arrows point downwards only.</desc>
                <style>
                  text { font: 12px ui-monospace, Menlo, Consolas, monospace; fill: #1f2328; }
                  .name { text-anchor: middle; }
                  .title { font-weight: bold; font-size: 14px; }
                  .module { fill: #f6f8fa; stroke: #8c959f; }
                  .public { fill: #ddf4ff; stroke: #0969da; }
                  .internal { fill: #ffffff; stroke: #8c959f; }
                  .arrow { fill: none; stroke: #57606a; stroke-opacity: 0.75; }
                  .between { fill: none; stroke: #0969da; stroke-width: 2.5; }
                  #head path { fill: #57606a; }
                  @media (prefers-color-scheme: dark) {
                    text { fill: #e6edf3; }
                    .module { fill: #161b22; stroke: #6e7681; }
                    .public { fill: #0c2d6b; stroke: #58a6ff; }
                    .internal { fill: #0d1117; stroke: #6e7681; }
                    .arrow { stroke: #8b949e; }
                    .between { stroke: #58a6ff; }
                    #head path { fill: #8b949e; }
                  }
                </style>
                <defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto" markerUnits="userSpaceOnUse"><path d="M0 0 L8 4 L0 8 z"/></marker></defs>
                """
                + floors + arrows + names + "</svg>\n";
    }

    private static String format(String pattern, Object... values) {
        return String.format(Locale.ROOT, pattern, values);
    }
}
