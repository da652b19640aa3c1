package io.lambdadispatcher.server.config;

import java.io.File;
import java.io.IOException;
import java.net.MalformedURLException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** Looks for the handler class of local workers, without loading it. */
final class HandlerClass {
    private static final String WILDCARD = "*";

    private HandlerClass() {}

    /**
     * Returns whether local workers certainly do not find the class. If a part of the class path
     * does not exist yet, nothing is certain.
     *
     * @param name the name of the class, with $ before a nested class
     * @param classPath comes before the class path of this JVM; {@code null} = nothing does
     */
    static boolean isMissing(String name, @Nullable String classPath) {
        List<URL> places = new ArrayList<>();
        try {
            for (String entry :
                    classPath == null ? new String[0] : classPath.split(Pattern.quote(File.pathSeparator))) {
                if (entry.endsWith(WILDCARD)) {
                    addJars(Path.of(entry.substring(0, entry.length() - WILDCARD.length())), places);
                } else if (Files.exists(Path.of(entry))) {
                    places.add(url(Path.of(entry)));
                } else {
                    return false;
                }
            }
            return !isFound(name, places);
        } catch (IOException | InvalidPathException e) {
            return false;
        }
    }

    /** As a JVM does it: a wildcard stands for the jars of the directory. */
    private static void addJars(Path directory, List<URL> places) throws IOException {
        try (DirectoryStream<Path> jars = Files.newDirectoryStream(directory, "*.{jar,JAR}")) {
            for (Path jar : jars) {
                places.add(url(jar));
            }
        }
    }

    private static URL url(Path place) throws MalformedURLException {
        return place.toUri().toURL();
    }

    private static boolean isFound(String name, List<URL> places) throws IOException {
        ClassLoader own = HandlerClass.class.getClassLoader();
        try (URLClassLoader loader = new URLClassLoader(places.toArray(URL[]::new), own)) {
            return loader.getResource(name.replace('.', '/') + ".class") != null;
        }
    }
}
