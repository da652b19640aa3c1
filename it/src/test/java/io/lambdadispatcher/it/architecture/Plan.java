package io.lambdadispatcher.it.architecture;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.TreeSet;

/** The content of {@code plan.txt}: the position of each package. A package may use lower ones. */
record Plan(List<List<Module>> floors) {

    /** @param rows short names of packages, the top row first */
    record Module(String name, String root, List<List<String>> rows) {

        String fullName(String shortName) {
            return shortName.equals(".") ? root : root + "." + shortName;
        }

        boolean holds(String packageName) {
            return packageName.equals(root) || packageName.startsWith(root + ".");
        }

        int rowOf(String packageName) {
            for (int row = 0; row < rows.size(); row++) {
                if (rows.get(row).stream().map(this::fullName).anyMatch(packageName::equals)) {
                    return row;
                }
            }
            return -1;
        }
    }

    static Plan read() {
        try (InputStream in = Objects.requireNonNull(Plan.class.getResourceAsStream("/architecture/plan.txt"));
                BufferedReader lines = new BufferedReader(new InputStreamReader(in, StandardCharsets.UTF_8))) {
            List<List<Module>> floors = new ArrayList<>(List.of(new ArrayList<>()));
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                List<Module> floor = floors.get(floors.size() - 1);
                if (line.startsWith("----")) {
                    floors.add(new ArrayList<>());
                } else if (line.startsWith("[")) {
                    String[] parts = line.substring(1).split("] ", 2);
                    floor.add(new Module(parts[0], parts[1].trim(), new ArrayList<>()));
                } else if (!line.isBlank() && !line.startsWith("#")) {
                    floor.get(floor.size() - 1).rows().add(List.of(line.trim().split("\\s+")));
                }
            }
            return new Plan(floors);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    List<Module> modules() {
        return floors.stream().flatMap(List::stream).toList();
    }

    TreeSet<String> packages() {
        TreeSet<String> packages = new TreeSet<>();
        for (Module module : modules()) {
            module.rows().forEach(row -> row.stream().map(module::fullName).forEach(packages::add));
        }
        return packages;
    }

    Optional<Module> moduleOf(String packageName) {
        return modules().stream().filter(module -> module.holds(packageName)).findFirst();
    }

    private int floorOf(Module module) {
        for (int floor = 0; floor < floors.size(); floor++) {
            if (floors.get(floor).contains(module)) {
                return floor;
            }
        }
        throw new IllegalArgumentException(module.name());
    }

    /** Returns whether {@code to} is lower than {@code from}. */
    boolean allows(String from, String to) {
        Module source = moduleOf(from).orElseThrow();
        Module target = moduleOf(to).orElseThrow();
        return source.equals(target) ? source.rowOf(to) > source.rowOf(from) : floorOf(target) > floorOf(source);
    }
}
