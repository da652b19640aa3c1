package io.lambdadispatcher.server.config;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** Prints effective settings in columns: name, value, source. */
final class ConfigurationReport {
    private record Line(String name, String value, String source) {}

    private ConfigurationReport() {}

    static String of(EffectiveValues values, Map<String, EffectiveValues> functions) {
        List<Line> lines = new ArrayList<>();
        for (Effective<?> effective : values.all()) {
            if (!Settings.FUNCTION.contains(effective.setting())) {
                lines.add(line(effective.setting().name(), effective));
            }
        }
        functions.forEach((place, entry) -> {
            for (Effective<?> effective : entry.all()) {
                lines.add(line(place + "." + effective.setting().lastName(), effective));
            }
        });
        return inColumns(lines);
    }

    private static Line line(String name, Effective<?> effective) {
        String text = effective.text();
        String shown =
                text == null || text.isEmpty() ? "-" : effective.setting().show(text);
        return new Line(name, shown, effective.source().toString());
    }

    private static String inColumns(List<Line> lines) {
        int nameWidth =
                lines.stream().mapToInt(line -> line.name.length()).max().orElse(0);
        int valueWidth =
                lines.stream().mapToInt(line -> line.value.length()).max().orElse(0);
        int width = Math.min(valueWidth, 40);
        StringBuilder text = new StringBuilder();
        for (Line line : lines) {
            text.append(pad(line.name, nameWidth)).append("  ");
            text.append(pad(line.value, width)).append("  ").append(line.source).append('\n');
        }
        return text.toString();
    }

    private static String pad(String text, int width) {
        return text + " ".repeat(Math.max(0, width - text.length()));
    }
}
