package io.lambdadispatcher.server;

import io.lambdadispatcher.core.spi.Filter;
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
import java.util.jar.JarFile;
import java.util.stream.Stream;
import java.util.zip.ZipEntry;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Finds the filters of a directory. Each jar names its own as services of {@link Filter}, and may
 * use the classes of the other jars. A filter has a public constructor without parameters.
 */
final class FilterJars {
    private static final Logger log = LoggerFactory.getLogger(FilterJars.class);
    private static final String SERVICES = "META-INF/services/" + Filter.class.getName();

    private FilterJars() {}

    /**
     * Returns the filters, in the order of the names of their jars, and then as a jar names them.
     * Their class loader stays open, because they may load further classes at any time.
     *
     * @throws StartException if there is none, or one cannot be created
     */
    static List<Filter> load(Path directory) throws StartException {
        List<Path> jars = jars(directory);
        ClassLoader loader = new URLClassLoader(
                "filters", jars.stream().map(FilterJars::url).toArray(URL[]::new), Filter.class.getClassLoader());
        List<Filter> filters = new ArrayList<>();
        for (Path jar : jars) {
            for (String name : names(jar)) {
                filters.add(create(jar, name, loader));
                log.info("filter {} of {}", name, jar.getFileName());
            }
        }
        if (filters.isEmpty()) {
            throw new StartException("filters.path: no jar of " + directory + " has " + SERVICES);
        }
        return filters;
    }

    private static List<Path> jars(Path directory) throws StartException {
        try (Stream<Path> files = Files.list(directory)) {
            return files.filter(file -> file.toString().endsWith(".jar"))
                    .sorted()
                    .toList();
        } catch (IOException e) {
            throw new StartException("filters.path: " + e, e);
        }
    }

    private static URL url(Path jar) {
        try {
            return jar.toUri().toURL();
        } catch (IOException e) {
            throw new IllegalArgumentException(jar.toString(), e);
        }
    }

    private static List<String> names(Path jar) throws StartException {
        try (JarFile file = new JarFile(jar.toFile())) {
            ZipEntry services = file.getEntry(SERVICES);
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
            throw new StartException("filters.path: " + jar + ": " + e, e);
        }
    }

    private static Filter create(Path jar, String name, ClassLoader loader) throws StartException {
        try {
            return Class.forName(name, true, loader)
                    .asSubclass(Filter.class)
                    .getConstructor()
                    .newInstance();
        } catch (InvocationTargetException e) {
            throw new StartException("filters.path: " + jar + ": " + name + ": " + e.getCause(), e);
        } catch (ReflectiveOperationException | ClassCastException | LinkageError e) {
            throw new StartException("filters.path: " + jar + ": " + name + ": " + e, e);
        }
    }
}
