package io.lambdadispatcher.server.config;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.List;
import java.util.stream.Stream;

/** Tells whether the contents of a file, or the jars of a directory, have changed. */
final class FileDigest {
    private FileDigest() {}

    /** Returns a digest of the contents, or of the fact that the file cannot be read. */
    static String of(String file) {
        try {
            Path path = Path.of(file);
            if (!Files.isRegularFile(path) && !Files.isDirectory(path)) {
                // A pipe can be read only once.
                return "not a regular file";
            }
            byte[] contents =
                    Files.isDirectory(path) ? list(path).getBytes(StandardCharsets.UTF_8) : Files.readAllBytes(path);
            return HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(contents));
        } catch (IOException | UncheckedIOException | InvalidPathException | OutOfMemoryError e) {
            // Files.list fails with the second one, and a file of 2 GB or more with the last one.
            return "not readable";
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("every Java platform has SHA-256", e);
        }
    }

    /** Returns the jars with their sizes and times. They can be large, so they are not read. */
    private static String list(Path directory) throws IOException {
        StringBuilder list = new StringBuilder();
        try (Stream<Path> files = Files.list(directory)) {
            List<Path> jars = files.filter(file -> file.toString().endsWith(".jar"))
                    .sorted()
                    .toList();
            for (Path jar : jars) {
                list.append(jar.getFileName())
                        .append(' ')
                        .append(Files.size(jar))
                        .append(' ')
                        .append(Files.getLastModifiedTime(jar))
                        .append('\n');
            }
        }
        return list.toString();
    }
}
