package io.lambdadispatcher.it.architecture;

import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import java.util.ArrayDeque;
import java.util.Collections;
import java.util.Deque;
import java.util.HashSet;
import java.util.Set;
import java.util.SortedMap;
import java.util.SortedSet;
import java.util.TreeMap;
import java.util.TreeSet;

/** The dependencies between packages, each with an example. */
final class PackageGraph {
    private static final String OURS = "io.lambdadispatcher.";

    private final SortedMap<String, SortedMap<String, String>> uses = new TreeMap<>();

    static PackageGraph of(JavaClasses classes) {
        PackageGraph graph = new PackageGraph();
        for (JavaClass from : classes) {
            SortedMap<String, String> targets =
                    graph.uses.computeIfAbsent(from.getPackageName(), any -> new TreeMap<>());
            from.getDirectDependenciesFromSelf().forEach(dependency -> {
                JavaClass to = dependency.getTargetClass().getBaseComponentType();
                if (to.getPackageName().startsWith(OURS) && !to.getPackageName().equals(from.getPackageName())) {
                    targets.putIfAbsent(to.getPackageName(), dependency.getDescription());
                }
            });
        }
        return graph;
    }

    SortedSet<String> packages() {
        return new TreeSet<>(uses.keySet());
    }

    /** Returns the packages that {@code from} uses, each with one place in the code. */
    SortedMap<String, String> usedBy(String from) {
        return Collections.unmodifiableSortedMap(uses.getOrDefault(from, new TreeMap<>()));
    }

    /** Returns whether a path of more than one arrow leads from one package to the other. */
    boolean isReachedByOthers(String from, String to) {
        Set<String> seen = new HashSet<>(Set.of(from, to));
        Deque<String> next = new ArrayDeque<>(usedBy(from).keySet());
        while (!next.isEmpty()) {
            String via = next.remove();
            if (seen.add(via)) {
                if (usedBy(via).containsKey(to)) {
                    return true;
                }
                next.addAll(usedBy(via).keySet());
            }
        }
        return false;
    }
}
