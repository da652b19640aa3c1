package io.lambdadispatcher.it;

import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static com.tngtech.archunit.library.dependencies.SlicesRuleDefinition.slices;

import com.tngtech.archunit.core.importer.ImportOption;
import com.tngtech.archunit.junit.AnalyzeClasses;
import com.tngtech.archunit.junit.ArchTest;
import com.tngtech.archunit.lang.ArchRule;

/** The arrows of {@code docs/ARCHITECTURE.md}: dependencies point downwards only. */
@AnalyzeClasses(packages = "io.lambdadispatcher", importOptions = ImportOption.DoNotIncludeTests.class)
class PackageArrowsTest {
    private static final String BASE = "io.lambdadispatcher.";
    private static final String INTERNAL = BASE + "core.internal.";

    @ArchTest
    static final ArchRule wire_knows_nothing_above_it = noClasses()
            .that()
            .resideInAPackage(BASE + "wire..")
            .should()
            .dependOnClassesThat()
            .resideInAnyPackage(BASE + "core..", BASE + "worker..", BASE + "server..");

    @ArchTest
    static final ArchRule core_and_worker_meet_on_the_wire_only = noClasses()
            .that()
            .resideInAPackage(BASE + "core..")
            .should()
            .dependOnClassesThat()
            .resideInAnyPackage(BASE + "worker..", BASE + "server..");

    @ArchTest
    static final ArchRule the_worker_is_small = noClasses()
            .that()
            .resideInAPackage(BASE + "worker..")
            .should()
            .dependOnClassesThat()
            .resideInAnyPackage(BASE + "core..", BASE + "server..", "ch.qos.logback..", "software.amazon..");

    @ArchTest
    static final ArchRule the_core_has_no_metrics_library_and_no_logging_backend = noClasses()
            .that()
            .resideInAPackage(BASE + "core..")
            .should()
            .dependOnClassesThat()
            .resideInAnyPackage("io.micrometer..", "ch.qos.logback..", "tools.jackson..", "picocli..");

    @ArchTest
    static final ArchRule spi_is_below_everything = noClasses()
            .that()
            .resideInAPackage(BASE + "core.spi..")
            .should()
            .dependOnClassesThat()
            .resideInAPackage(INTERNAL + "..");

    @ArchTest
    static final ArchRule the_public_side_reaches_workers_through_exchanges_only = noClasses()
            .that()
            .resideInAPackage(INTERNAL + "ingress..")
            .should()
            .dependOnClassesThat()
            .resideInAnyPackage(
                    INTERNAL + "worker..", INTERNAL + "pool..", INTERNAL + "launch..", INTERNAL + "engine..");

    @ArchTest
    static final ArchRule pools_do_not_know_connections = noClasses()
            .that()
            .resideInAnyPackage(INTERNAL + "pool..", INTERNAL + "exchange..", INTERNAL + "loop..")
            .should()
            .dependOnClassesThat()
            .resideInAnyPackage(
                    INTERNAL + "worker..", INTERNAL + "ingress..", INTERNAL + "launch..", INTERNAL + "engine..");

    @ArchTest
    static final ArchRule internals_are_used_by_the_core_only = classes()
            .that()
            .resideInAPackage(INTERNAL + "..")
            .should()
            .onlyBeAccessed()
            .byAnyPackage(BASE + "core..");

    @ArchTest
    static final ArchRule no_cycles_inside_the_core = slices().matching("io.lambdadispatcher.core.internal.(*)..")
            .should()
            .beFreeOfCycles();
}
