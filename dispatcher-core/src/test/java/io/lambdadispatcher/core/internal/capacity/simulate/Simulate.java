package io.lambdadispatcher.core.internal.capacity.simulate;

import java.io.IOException;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;

/**
 * Runs a simulation: {@code Simulate <scenario> [--setting number]… [--out directory]}. Prints a
 * table, and writes JSON and a plot.
 */
public final class Simulate {
    private Simulate() {}

    public static void main(String[] arguments) throws IOException {
        int status = run(arguments, System.out, System.err);
        if (status != 0) {
            System.exit(status);
        }
    }

    /** @return the exit status */
    static int run(String[] arguments, PrintStream out, PrintStream err) throws IOException {
        if (arguments.length == 0 || arguments[0].equals("--help")) {
            out.print(usage());
            return arguments.length == 0 ? 2 : 0;
        }
        Scenario scenario;
        SimulationSettings settings;
        Path directory = Path.of("target", "simulation");
        try {
            scenario = Scenario.of(arguments[0]);
            settings = scenario.settings();
            for (int i = 1; i < arguments.length; i += 2) {
                String value = i + 1 < arguments.length ? arguments[i + 1] : "";
                if (arguments[i].equals("--out")) {
                    directory = Path.of(value);
                } else {
                    settings = changed(settings, arguments[i], value);
                }
            }
        } catch (IllegalArgumentException e) {
            err.println(e.getMessage());
            return 2;
        }
        simulate(scenario, settings, directory, out);
        return 0;
    }

    private static SimulationSettings changed(SimulationSettings settings, String option, String value) {
        if (!option.startsWith("--")) {
            throw new IllegalArgumentException("argument: " + option + ", expected --setting number");
        }
        try {
            return settings.with(SimulationSetting.of(option.substring(2)), Double.parseDouble(value));
        } catch (NumberFormatException e) {
            throw new IllegalArgumentException(option + ": \"" + value + "\", expected a number", e);
        }
    }

    private static void simulate(Scenario scenario, SimulationSettings settings, Path directory, PrintStream out)
            throws IOException {
        long start = System.nanoTime();
        Simulation run = Simulation.run(scenario, settings);
        double seconds = (System.nanoTime() - start) / 1e9;
        Report report = new Report(scenario, run);
        out.print(report.table());
        Files.createDirectories(directory);
        Path json = directory.resolve(scenario.option() + ".json");
        Path plot = directory.resolve(scenario.option() + ".svg");
        Files.writeString(json, report.json());
        Files.writeString(plot, Plot.of(scenario.option() + ": " + scenario.meaning, run.dispatch.timeline));
        out.printf(Locale.ROOT, "%.1f s of real time; %s, %s%n", seconds, json, plot);
    }

    private static String usage() {
        StringBuilder usage = new StringBuilder("Simulate <scenario> [--setting number]… [--out directory]\n\n");
        for (Scenario scenario : Scenario.values()) {
            usage.append(String.format(Locale.ROOT, "%-16s %s%n", scenario.option(), scenario.meaning));
        }
        usage.append('\n');
        for (SimulationSetting setting : SimulationSetting.values()) {
            usage.append(String.format(
                    Locale.ROOT, "--%-27s %s (%s)%n", setting.option(), setting.meaning, number(setting.standard)));
        }
        return usage.toString();
    }

    private static String number(double value) {
        return value == Math.rint(value) ? String.format(Locale.ROOT, "%.0f", value) : Double.toString(value);
    }
}
