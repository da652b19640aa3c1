package io.lambdadispatcher.it.architecture;

import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static org.assertj.core.api.Assertions.assertThat;

import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.domain.JavaModifier;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import com.tngtech.archunit.core.importer.Location;
import com.tngtech.archunit.core.importer.Locations;
import com.tngtech.archunit.lang.syntax.ArchRuleDefinition;
import io.lambdadispatcher.it.architecture.Plan.Module;
import java.io.IOException;
import java.io.InputStream;
import java.lang.module.FindException;
import java.lang.module.ModuleDescriptor;
import java.lang.module.ModuleDescriptor.Requires;
import java.lang.module.ModuleFinder;
import java.lang.module.ModuleReference;
import java.net.JarURLConnection;
import java.net.URISyntaxException;
import java.net.URL;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Enumeration;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Predicate;
import java.util.jar.JarFile;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/**
 * Checks the architecture in the bytecode of all modules. {@code plan.txt} defines the allowed
 * dependencies. {@code docs/explanation/architecture.md} describes the purpose of each package.
 */
class ArchitectureTest {
    private static final Path ROOT = Path.of("..").toAbsolutePath().normalize();
    private static final Path DRAWING = ROOT.resolve("docs/explanation/architecture.svg");
    private static final String BASE = "io.lambdadispatcher.";
    private static final String INTERNAL = BASE + "core.internal.";
    private static final Pattern PACKAGE_NAME = Pattern.compile(
            "`((?:core|accesslog|aws|cache|compression|micrometer|opentelemetry|shadow|spring|test|worker|wire|server)(?:\\.[a-z0-9]+)*)`");
    private static final long MOST_LINES = 600;

    /** Raised only with its reason. */
    private static final long MOST_CORE_LINES = 46_434;

    private static final long MOST_MUTABLE_FIELDS = 18;
    private static final JavaClasses CLASSES = classes();
    private static final PackageGraph GRAPH = PackageGraph.of(CLASSES);
    private static final Plan PLAN = Plan.read();

    /**
     * The benchmarks are not on the class path of this test: Maven builds them before this module.
     */
    private static JavaClasses classes() {
        Path benchmarks = ROOT.resolve("benchmarks/target/classes");
        assertThat(benchmarks)
                .withFailMessage("%s is missing: build the module benchmarks first (mvn verify does)", benchmarks)
                .isDirectory();
        List<Location> locations = new ArrayList<>(Locations.ofPackage("io.lambdadispatcher"));
        locations.add(Location.of(benchmarks.resolve("io/lambdadispatcher")));
        return new ClassFileImporter()
                .withImportOption(ImportOption.Predefined.DO_NOT_INCLUDE_TESTS)
                .withImportOption(location -> !location.contains("-tests.jar") && !location.contains("/jmh_generated/"))
                .importLocations(locations);
    }

    @Test
    void should_give_every_package_a_place_in_the_plan() {
        assertThat(GRAPH.packages()).isEqualTo(PLAN.packages());
    }

    @Test
    void should_have_arrows_that_point_downwards_only() {
        Set<String> upwards = new TreeSet<>();
        for (String from : GRAPH.packages()) {
            GRAPH.usedBy(from).forEach((to, example) -> {
                if (!PLAN.allows(from, to)) {
                    upwards.add(from + " -> " + to + ": " + example);
                }
            });
        }
        assertThat(upwards).as("arrows against the plan").isEmpty();
    }

    @Test
    void should_use_no_internals_of_another_module() {
        Set<String> intruders = new TreeSet<>();
        for (String from : GRAPH.packages()) {
            Module own = PLAN.moduleOf(from).orElseThrow();
            GRAPH.usedBy(from).forEach((to, example) -> {
                if ((to + ".").contains(".internal.") && !own.holds(to)) {
                    intruders.add(example);
                }
            });
        }
        assertThat(intruders).isEmpty();
    }

    /**
     * Public API must only show types of its own artifact and of libraries, so that the formats on
     * the wire can change.
     */
    @Test
    void should_show_no_type_of_the_wire_to_programs() throws IOException {
        assertThat(shown(exportedPackages(), type -> type.getPackageName().startsWith(BASE + "wire")))
                .isEmpty();
    }

    /**
     * Filters, and whoever only sends requests or sets options, must not depend on Netty, except on
     * its buffers. Routers and observers see the headers of every request without a copy, and who
     * chooses event loops or sockets chooses Netty's.
     */
    @Test
    void should_show_no_type_of_netty_to_filters() {
        Set<String> api = Set.of(
                BASE + "core", BASE + "core.observe", BASE + "core.options", BASE + "core.request", BASE + "core.spi");
        Set<String> members = shown(
                api,
                type -> type.getPackageName().startsWith("io.netty.")
                        && !type.getFullName().equals("io.netty.buffer.ByteBuf"));
        assertThat(members.stream()
                        .map(member -> member.replaceFirst("\\(.*", "").substring(BASE.length()))
                        .distinct())
                .containsExactly(
                        // Embedders with a Netty server of their own.
                        "core.Dispatcher.clientHandler",
                        "core.DispatcherBuilder.eventLoopGroup",
                        // Observers and routers.
                        "core.observe.ExchangeEnd.headers",
                        "core.observe.ExchangeListener.onAttempt",
                        "core.observe.ExchangeStart.headers",
                        // Sockets of other kinds.
                        "core.options.ListenerOptions.socket",
                        "core.options.ListenerOptions.withSocket",
                        "core.options.Transport.<init>",
                        "core.options.Transport.ioHandler",
                        "core.options.Transport.serverChannel",
                        "core.spi.RequestRouter.route");
    }

    /** Returns the public members of these packages whose signatures have such a type. */
    private static Set<String> shown(Set<String> packages, Predicate<JavaClass> shown) {
        assertThat(packages).contains(BASE + "core.options", BASE + "core.spi");
        Set<String> members = new TreeSet<>();
        for (JavaClass type : CLASSES) {
            if (packages.contains(type.getPackageName()) && isVisible(type.getModifiers())) {
                Stream.concat(type.getCodeUnits().stream(), type.getFields().stream())
                        .filter(member -> isVisible(member.getModifiers()))
                        .filter(member ->
                                member.getAllInvolvedRawTypes().stream().anyMatch(shown))
                        .forEach(member -> members.add(member.getFullName()));
            }
        }
        return members;
    }

    private static Set<String> exportedPackages() throws IOException {
        Set<String> packages = new HashSet<>();
        for (ModuleDescriptor module : modules()) {
            module.exports().stream()
                    .filter(export -> !export.isQualified())
                    .forEach(export -> packages.add(export.source()));
        }
        return packages;
    }

    private static List<ModuleDescriptor> modules() throws IOException {
        List<ModuleDescriptor> modules = new ArrayList<>();
        for (String module : List.of(
                "dispatcher-core",
                "lambda-worker",
                "extensions/access-log",
                "extensions/aws",
                "extensions/cache",
                "extensions/compression",
                "extensions/micrometer",
                "extensions/opentelemetry",
                "extensions/shadow",
                "extensions/test")) {
            try (InputStream descriptor =
                    Files.newInputStream(ROOT.resolve(module + "/target/classes/module-info.class"))) {
                modules.add(ModuleDescriptor.read(descriptor));
            }
        }
        return modules;
    }

    /**
     * The name of such a module is guessed from the name of its JAR file, so programs must not
     * depend on it without saying so (javac: {@code -Xlint:requires-transitive-automatic}).
     */
    @Test
    void should_pass_on_no_module_that_its_file_names() throws Exception {
        Set<String> named = modulesThatTheirFilesName();
        assertThat(named).contains("aws.lambda.java.core");
        for (ModuleDescriptor module : modules()) {
            assertThat(module.requires())
                    .as(module.name())
                    .filteredOn(requires -> requires.modifiers().contains(Requires.Modifier.TRANSITIVE))
                    .extracting(Requires::name)
                    .doesNotContainAnyElementsOf(named);
        }
    }

    /** Returns the names of modules with neither a descriptor nor a name in the manifest. */
    private static Set<String> modulesThatTheirFilesName() throws IOException, URISyntaxException {
        Set<String> names = new HashSet<>();
        Enumeration<URL> manifests = ArchitectureTest.class.getClassLoader().getResources(JarFile.MANIFEST_NAME);
        while (manifests.hasMoreElements()) {
            if (manifests.nextElement().openConnection() instanceof JarURLConnection connection
                    && connection.getMainAttributes().getValue("Automatic-Module-Name") == null) {
                try {
                    ModuleFinder.of(Path.of(connection.getJarFileURL().toURI())).findAll().stream()
                            .map(ModuleReference::descriptor)
                            .filter(ModuleDescriptor::isAutomatic)
                            .forEach(module -> names.add(module.name()));
                } catch (FindException e) {
                    // The name of the file is not that of a module, so no module can require it.
                }
            }
        }
        return names;
    }

    private static boolean isVisible(Set<JavaModifier> modifiers) {
        return modifiers.contains(JavaModifier.PUBLIC) || modifiers.contains(JavaModifier.PROTECTED);
    }

    @Test
    void should_give_no_two_types_the_same_simple_name() {
        Map<String, Set<String>> places = new TreeMap<>();
        for (JavaClass type : CLASSES) {
            if (type.isTopLevelClass() && !type.getSimpleName().equals("package-info")) {
                places.computeIfAbsent(type.getSimpleName(), any -> new HashSet<>())
                        .add(type.getName());
            }
        }
        places.values().removeIf(names -> names.size() == 1);
        assertThat(places).isEmpty();
    }

    /** Who reads a class must be able to hold it in mind. */
    @Test
    void should_have_no_class_and_no_core_that_is_too_large_to_read() throws IOException {
        Map<String, Long> lines = new TreeMap<>();
        try (Stream<Path> files = Files.walk(ROOT)) {
            for (Path file : files.filter(each -> each.toString().matches(".*/src/main/java/.*\\.java"))
                    .toList()) {
                try (Stream<String> text = Files.lines(file)) {
                    lines.put(ROOT.relativize(file).toString(), text.count());
                }
            }
        }
        assertThat(lines).hasSizeGreaterThan(500);
        long core = lines.entrySet().stream()
                .filter(file -> file.getKey().startsWith("dispatcher-core"))
                .mapToLong(Map.Entry::getValue)
                .sum();
        assertThat(core)
                .as("lines of dispatcher-core; raise the number only with its reason")
                .isBetween(20_000L, MOST_CORE_LINES);
        lines.values().removeIf(count -> count <= MOST_LINES);
        assertThat(lines).as("files of more than %d lines", MOST_LINES).isEmpty();

        Map<String, Long> mutable = CLASSES.stream()
                .collect(Collectors.toMap(
                        JavaClass::getSimpleName,
                        type -> type.getFields().stream()
                                .filter(field -> !field.getModifiers().contains(JavaModifier.FINAL))
                                .filter(field -> !field.getModifiers().contains(JavaModifier.STATIC))
                                .count(),
                        Math::max,
                        TreeMap::new));
        mutable.values().removeIf(count -> count <= MOST_MUTABLE_FIELDS);
        assertThat(mutable)
                .as("classes of more than %d mutable fields", MOST_MUTABLE_FIELDS)
                .isEmpty();
    }

    /** If the plan has changed, {@code mvn verify -Darchitecture.draw=true} updates the drawing. */
    @Test
    void should_be_drawn_as_it_is() throws IOException {
        String drawing = Drawing.of(PLAN, GRAPH);
        if (Boolean.getBoolean("architecture.draw")) {
            Files.writeString(DRAWING, drawing);
        }
        assertThat(Files.readString(DRAWING))
                .as(
                        "docs/explanation/architecture.svg shows other arrows than the code has; -Darchitecture.draw=true draws it")
                .isEqualTo(drawing);
    }

    /** Checks the table "I want to change X: open Y", which does not list the benchmarks. */
    @Test
    void should_name_every_package_in_the_table_of_the_architecture_page() throws IOException {
        String page = Files.readString(ROOT.resolve("docs/explanation/architecture.md"));
        String table = page.substring(page.indexOf("| I want to change"), page.indexOf("## The path of a request"));
        Set<String> named = new TreeSet<>();
        for (Matcher name = PACKAGE_NAME.matcher(table); name.find(); ) {
            named.add(BASE + name.group(1));
        }
        Set<String> packages = PLAN.packages();
        packages.removeIf(name -> name.startsWith(BASE + "bench"));
        assertThat(named).isEqualTo(packages);
    }

    /**
     * They are the proof that a program can have such a filter of its own. What HTTP says about
     * encoded content has its one home in {@code wire.http}, because workers compress, too.
     */
    @Test
    void should_hold_that_filters_with_settings_use_the_public_contract_only() {
        for (List<String> each :
                List.of(List.of("shadow"), List.of("cache", "wire.http"), List.of("compression", "wire.http"))) {
            List<String> allowed = new ArrayList<>(List.of(
                    BASE + "core.spi",
                    BASE + "core.observe",
                    BASE + "core.request",
                    "java..",
                    "io.netty..",
                    "com.aayushatharva.brotli4j..",
                    "com.github.benmanes.caffeine..",
                    "com.github.luben.zstd..",
                    "org.jspecify..",
                    "org.slf4j.."));
            each.forEach(its -> allowed.add(BASE + its));
            ArchRuleDefinition.classes()
                    .that()
                    .resideInAPackage(BASE + each.get(0) + "..")
                    .should()
                    .onlyDependOnClassesThat()
                    .resideInAnyPackage(allowed.toArray(String[]::new))
                    .check(CLASSES);
        }
    }

    /** Who embeds a dispatcher without these filters has nothing of them on the class path. */
    @Test
    void should_hold_that_the_core_has_neither_codecs_nor_a_cache() {
        noClasses()
                .that()
                .resideInAPackage(BASE + "core..")
                .should()
                .dependOnClassesThat()
                .resideInAnyPackage(
                        BASE + "cache..",
                        BASE + "compression..",
                        BASE + "shadow..",
                        "com.aayushatharva.brotli4j..",
                        "com.github.benmanes.caffeine..",
                        "com.github.luben.zstd..",
                        "io.netty.handler.codec.compression..")
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
    void should_hold_that_one_package_of_each_end_sees_the_aws_sdk() {
        noClasses()
                .that()
                .resideOutsideOfPackages(BASE + "aws..", BASE + "worker.aws..", BASE + "bench..")
                .should()
                .dependOnClassesThat()
                .resideInAPackage("software.amazon..")
                .check(CLASSES);
    }

    @Test
    void should_hold_that_the_lambda_launcher_knows_the_spi_only() {
        noClasses()
                .that()
                .resideInAPackage(BASE + "aws..")
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
                .resideOutsideOfPackages(INTERNAL + "direct..", INTERNAL + "fleet..")
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
    void should_keep_the_worker_small() {
        noClasses()
                .that()
                .resideInAPackage(BASE + "worker..")
                .should()
                .dependOnClassesThat()
                .resideInAnyPackage("ch.qos.logback..", "tools.jackson.databind..")
                .check(CLASSES);
    }

    /** An adapter is an ordinary handler, so it must not use worker streams or connections. */
    @Test
    void should_keep_adapters_away_from_connections() {
        noClasses()
                .that()
                .resideInAnyPackage(BASE + "worker.adapter..", BASE + "worker.websocket..", BASE + "worker.blocking..")
                .should()
                .dependOnClassesThat()
                .resideInAnyPackage(BASE + "worker.internal.relay..", BASE + "worker.internal.connect..")
                .check(CLASSES);
    }
}
