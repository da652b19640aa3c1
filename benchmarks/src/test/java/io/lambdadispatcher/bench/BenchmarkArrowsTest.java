package io.lambdadispatcher.bench;

import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static com.tngtech.archunit.library.dependencies.SlicesRuleDefinition.slices;

import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;

/** Benchmarks use what users can use. What needs a module's internals is measured in that module's test sources. */
class BenchmarkArrowsTest {
    private static final JavaClasses CLASSES =
            new ClassFileImporter().importPath(Path.of("target", "classes", "io", "lambdadispatcher"));

    @Test
    void should_hold_that_benchmarks_use_no_internals() {
        noClasses()
                .should()
                .dependOnClassesThat()
                .resideInAPackage("io.lambdadispatcher..internal..")
                .check(CLASSES);
    }

    @Test
    void should_hold_that_benchmarks_have_no_cycles() {
        slices().matching("io.lambdadispatcher.(**)").should().beFreeOfCycles().check(CLASSES);
    }
}
