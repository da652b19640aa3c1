package io.lambdadispatcher.server.config;

import io.lambdadispatcher.core.spi.Filter;
import io.lambdadispatcher.core.spi.FilterCommand;
import io.lambdadispatcher.core.spi.FilterExtension;
import io.lambdadispatcher.core.spi.FilterSetting;
import io.lambdadispatcher.core.spi.ProgramSetting;
import java.io.IOException;
import java.io.InputStream;
import java.lang.reflect.InvocationTargetException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.Callable;
import java.util.jar.JarFile;
import java.util.stream.Stream;
import java.util.zip.ZipEntry;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Finds the filters of a directory. Each jar names its own as services of {@link Filter}, or of
 * {@link FilterExtension} if they have settings, and may use the classes of the other jars. Their
 * classes have a public constructor without parameters.
 */
final class FilterJars {
    private static final Logger log = LoggerFactory.getLogger(FilterJars.class);
    private static final String FILTERS = services(Filter.class);
    private static final String EXTENSIONS = services(FilterExtension.class);

    private final ClassLoader loader;
    private final List<FilterExtension> found = new ArrayList<>();

    /** The class loader stays open, because filters may load further classes at any time. */
    private FilterJars(List<Path> jars) {
        loader = new URLClassLoader(
                "filters", jars.stream().map(FilterJars::url).toArray(URL[]::new), Filter.class.getClassLoader());
    }

    /**
     * Returns the filters, in the order of the names of their jars, and then as a jar names them.
     * Creates no filter yet.
     *
     * @param table the settings that are known already
     * @throws IllegalArgumentException if there is no filter, or one is not valid. The message
     *     names its jar
     */
    static SettingTable load(Path directory, SettingTable table) {
        List<Path> jars = jars(directory);
        FilterJars filters = new FilterJars(jars);
        SettingTable all = table;
        for (Path jar : jars) {
            int before = filters.found.size();
            names(jar, FILTERS).forEach(name -> filters.addFilter(jar, name));
            names(jar, EXTENSIONS).forEach(name -> filters.addExtension(jar, name));
            List<FilterExtension> its = filters.found.subList(before, filters.found.size());
            all = with(all, List.copyOf(its), jar);
        }
        if (filters.found.isEmpty()) {
            throw new IllegalArgumentException(
                    "filters.path: no jar of " + directory + " has " + FILTERS + " or " + EXTENSIONS);
        }
        return all;
    }

    private static SettingTable with(SettingTable table, List<FilterExtension> filters, Path jar) {
        try {
            return table.with(new FilterExtensions(filters));
        } catch (IllegalStateException e) {
            throw failure(jar, String.valueOf(e.getMessage()), e);
        }
    }

    private static String services(Class<?> type) {
        return "META-INF/services/" + type.getName();
    }

    private static IllegalArgumentException failure(Path jar, String what, Throwable cause) {
        return new IllegalArgumentException("filters.path: " + jar + ": " + what, cause);
    }

    private static List<Path> jars(Path directory) {
        try (Stream<Path> files = Files.list(directory)) {
            return files.filter(file -> file.toString().endsWith(".jar"))
                    .sorted()
                    .toList();
        } catch (IOException e) {
            throw new IllegalArgumentException("filters.path: " + e, e);
        }
    }

    private static URL url(Path jar) {
        try {
            return jar.toUri().toURL();
        } catch (IOException e) {
            throw new IllegalArgumentException(jar.toString(), e);
        }
    }

    private static List<String> names(Path jar, String entry) {
        try (JarFile file = new JarFile(jar.toFile())) {
            ZipEntry services = file.getEntry(entry);
            if (services == null) {
                return List.of();
            }
            try (InputStream in = file.getInputStream(services)) {
                return new String(in.readAllBytes(), StandardCharsets.UTF_8)
                        .lines()
                        .map(line -> line.replaceFirst("#.*", "").strip())
                        .filter(line -> !line.isEmpty())
                        .toList();
            }
        } catch (IOException e) {
            throw failure(jar, e.toString(), e);
        }
    }

    private void addFilter(Path jar, String name) {
        Class<? extends Filter> type = type(jar, name, Filter.class);
        found.add(new FromJar(jar, name, List.of(), List.of(), List.of(), values -> newInstance(type)));
    }

    private void addExtension(Path jar, String name) {
        Class<? extends FilterExtension> type = type(jar, name, FilterExtension.class);
        FilterExtension extension = attempt(jar, name, () -> newInstance(type));
        List<FilterSetting<?>> settings = attempt(jar, name, () -> valid("settings()", extension.settings()));
        List<ProgramSetting<?>> ofProgram =
                attempt(jar, name, () -> valid("programSettings()", extension.programSettings()));
        List<FilterCommand> commands = attempt(jar, name, () -> valid("commands()", extension.commands()));
        found.add(new FromJar(jar, name, settings, ofProgram, commands, extension::create));
    }

    private static <T> List<T> valid(String method, @Nullable List<T> items) {
        if (items == null || items.stream().anyMatch(Objects::isNull)) {
            throw new IllegalArgumentException(method + " returns " + items);
        }
        return List.copyOf(items);
    }

    private <T> Class<? extends T> type(Path jar, String name, Class<T> service) {
        return attempt(jar, name, () -> Class.forName(name, true, loader).asSubclass(service));
    }

    private static <T> T newInstance(Class<T> type) throws ReflectiveOperationException {
        return type.getConstructor().newInstance();
    }

    /** Runs code of a jar. It may throw anything. */
    private static <T> T attempt(Path jar, String name, Callable<T> code) {
        try {
            return code.call();
        } catch (InvocationTargetException e) {
            throw failure(jar, name + ": " + e.getCause(), e);
        } catch (Exception | LinkageError e) {
            throw failure(jar, name + ": " + e, e);
        }
    }

    /** Asks what the dispatcher asks when it starts, so that an error names the jar. */
    private static Filter asked(@Nullable Filter filter) {
        Objects.requireNonNull(filter, "create() returns null");
        Objects.requireNonNull(filter.phase(), "phase() returns null");
        filter.policyType();
        return filter;
    }

    private static <T> T unset(ProgramSetting<T> setting) {
        throw new IllegalStateException("no value of " + setting.name());
    }

    private interface Creation {
        Filter create(ProgramSetting.Values values) throws ReflectiveOperationException;
    }

    /** A filter, and the jar that an error is blamed on. */
    private record FromJar(
            Path jar,
            String name,
            List<FilterSetting<?>> settings,
            List<ProgramSetting<?>> programSettings,
            List<FilterCommand> commands,
            Creation creation)
            implements FilterExtension {
        @Override
        public Filter create() {
            return create(FilterJars::unset);
        }

        @Override
        public Filter create(ProgramSetting.Values values) {
            Filter created = attempt(jar, name, () -> asked(creation.create(values)));
            log.info("filter {} of {}", name, jar.getFileName());
            return created;
        }
    }
}
