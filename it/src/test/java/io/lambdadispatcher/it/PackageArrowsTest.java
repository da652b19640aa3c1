package io.lambdadispatcher.it;

import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static com.tngtech.archunit.library.dependencies.SlicesRuleDefinition.slices;

import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import org.junit.jupiter.api.Test;

/** The arrows of {@code docs/ARCHITECTURE.md}: dependencies point downwards only. */
class PackageArrowsTest {
    private static final JavaClasses CLASSES = new ClassFileImporter()
            .withImportOption(ImportOption.Predefined.DO_NOT_INCLUDE_TESTS)
            .withImportOption(location -> !location.contains("-tests.jar"))
            .importPackages("io.lambdadispatcher");
    private static final String BASE = "io.lambdadispatcher.";
    private static final String INTERNAL = BASE + "core.internal.";

    @Test
    void should_hold_that_wire_knows_nothing_above_it() {
        noClasses()
                .that()
                .resideInAPackage(BASE + "wire..")
                .should()
                .dependOnClassesThat()
                .resideInAnyPackage(BASE + "core..", BASE + "worker..", BASE + "server..")
                .check(CLASSES);
    }

    @Test
    void should_hold_that_core_and_worker_meet_on_the_wire_only() {
        noClasses()
                .that()
                .resideInAPackage(BASE + "core..")
                .should()
                .dependOnClassesThat()
                .resideInAnyPackage(BASE + "worker..", BASE + "server..")
                .check(CLASSES);
    }

    @Test
    void should_hold_that_the_worker_is_small() {
        noClasses()
                .that()
                .resideInAPackage(BASE + "worker..")
                .should()
                .dependOnClassesThat()
                .resideInAnyPackage(BASE + "core..", BASE + "server..", "ch.qos.logback..")
                .check(CLASSES);
        noClasses()
                .that()
                .resideInAPackage(BASE + "worker..")
                .and()
                .resideOutsideOfPackage(BASE + "worker.aws..")
                .should()
                .dependOnClassesThat()
                .resideInAnyPackage(BASE + "worker.aws..", "software.amazon..")
                .check(CLASSES);
    }

    @Test
    void should_hold_that_adapters_are_handlers_like_others() {
        noClasses()
                .that()
                .resideInAnyPackage(
                        BASE + "worker.adapter.web..",
                        BASE + "worker.adapter.function..",
                        BASE + "worker.adapter.runtime..",
                        BASE + "worker.websocket..",
                        BASE + "worker.blocking..",
                        BASE + "worker.internal.child..",
                        BASE + "worker.aws..",
                        BASE + "worker.handler..")
                .should()
                .dependOnClassesThat()
                .resideInAnyPackage(
                        BASE + "worker", BASE + "worker.internal.relay..", BASE + "worker.internal.connect..")
                .check(CLASSES);
    }

    @Test
    void should_hold_that_the_core_has_no_metrics_library_and_no_logging_backend() {
        noClasses()
                .that()
                .resideInAPackage(BASE + "core..")
                .should()
                .dependOnClassesThat()
                .resideInAnyPackage(
                        "io.micrometer..",
                        "ch.qos.logback..",
                        "tools.jackson.databind..",
                        "tools.jackson.dataformat..",
                        "picocli..")
                .check(CLASSES);
    }

    @Test
    void should_hold_that_one_package_of_each_end_and_the_demo_see_the_aws_sdk() {
        noClasses()
                .that()
                .resideOutsideOfPackages(BASE + "core.lambda..", BASE + "worker.aws..", BASE + "server.demo..")
                .should()
                .dependOnClassesThat()
                .resideInAPackage("software.amazon..")
                .check(CLASSES);
    }

    @Test
    void should_hold_that_the_lambda_launcher_knows_the_spi_only() {
        noClasses()
                .that()
                .resideInAPackage(BASE + "core.lambda..")
                .should()
                .dependOnClassesThat()
                .resideInAnyPackage(BASE + "core", INTERNAL + ".")
                .check(CLASSES);
    }

    @Test
    void should_hold_that_json_is_for_lambda_and_never_on_the_path_to_a_worker() {
        noClasses()
                .that()
                .resideInAnyPackage(BASE + "core.internal..", BASE + "wire..")
                .and()
                .resideOutsideOfPackage(BASE + "wire.event..")
                .should()
                .dependOnClassesThat()
                .resideInAPackage("tools.jackson..")
                .check(CLASSES);
        noClasses()
                .that()
                .resideInAPackage(BASE + "core.internal..")
                .and()
                .resideOutsideOfPackage(INTERNAL + "direct..")
                .should()
                .dependOnClassesThat()
                .resideInAPackage(BASE + "wire.event..")
                .check(CLASSES);
        noClasses()
                .that()
                .resideInAPackage(BASE + "wire.event..")
                .should()
                .dependOnClassesThat()
                .resideInAPackage("tools.jackson.databind..")
                .check(CLASSES);
    }

    @Test
    void should_hold_that_the_direct_path_knows_exchanges_only() {
        noClasses()
                .that()
                .resideInAPackage(INTERNAL + "direct..")
                .should()
                .dependOnClassesThat()
                .resideInAnyPackage(
                        INTERNAL + "worker..",
                        INTERNAL + "pool..",
                        INTERNAL + "ingress..",
                        INTERNAL + "launch..",
                        INTERNAL + "engine..")
                .check(CLASSES);
    }

    @Test
    void should_hold_that_spi_is_below_everything() {
        noClasses()
                .that()
                .resideInAPackage(BASE + "core.spi..")
                .should()
                .dependOnClassesThat()
                .resideInAPackage(BASE + "core.internal..")
                .check(CLASSES);
    }

    @Test
    void should_hold_that_the_public_side_reaches_workers_through_exchanges_only() {
        noClasses()
                .that()
                .resideInAPackage(INTERNAL + "ingress..")
                .should()
                .dependOnClassesThat()
                .resideInAnyPackage(
                        INTERNAL + "worker..", INTERNAL + "pool..", INTERNAL + "launch..", INTERNAL + "engine..")
                .check(CLASSES);
    }

    @Test
    void should_hold_that_pools_do_not_know_connections() {
        noClasses()
                .that()
                .resideInAnyPackage(INTERNAL + "pool..", INTERNAL + "exchange..", INTERNAL + "loop..")
                .should()
                .dependOnClassesThat()
                .resideInAnyPackage(
                        INTERNAL + "worker..", INTERNAL + "ingress..", INTERNAL + "launch..", INTERNAL + "engine..")
                .check(CLASSES);
    }

    @Test
    void should_hold_that_internals_are_used_by_the_core_only() {
        classes()
                .that()
                .resideInAPackage(BASE + "core.internal..")
                .should()
                .onlyBeAccessed()
                .byAnyPackage(BASE + "core..")
                .check(CLASSES);
    }

    @Test
    void should_hold_that_the_dispatcher_is_on_top_of_the_core() {
        noClasses()
                .that()
                .resideInAPackage(BASE + "core.*..")
                .should()
                .dependOnClassesThat()
                .resideInAPackage(BASE + "core")
                .check(CLASSES);
    }

    @Test
    void should_hold_that_no_cycles_inside_the_core() {
        slices().matching("io.lambdadispatcher.core.internal.(*)..")
                .should()
                .beFreeOfCycles()
                .check(CLASSES);
    }

    @Test
    void should_hold_that_no_cycles_inside_the_worker() {
        slices().matching(BASE + "worker.(**)").should().beFreeOfCycles().check(CLASSES);
        noClasses()
                .that()
                .resideInAPackage(BASE + "worker.*..")
                .should()
                .dependOnClassesThat()
                .resideInAPackage(BASE + "worker")
                .check(CLASSES);
    }

    @Test
    void should_hold_that_the_api_of_handlers_knows_nothing_of_who_calls_them() {
        noClasses()
                .that()
                .resideInAPackage(BASE + "worker.handler..")
                .should()
                .dependOnClassesThat()
                .resideInAnyPackage(BASE + "worker.internal..", BASE + "worker.adapter..", BASE + "worker.config..")
                .check(CLASSES);
    }
}
