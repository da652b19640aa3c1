package io.lambdadispatcher.server.config;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;

/** Tells whether the contents of a file have changed. */
final class FileDigest {
    private FileDigest() {}

    /** Returns a digest of the contents, or of the fact that the file cannot be read. */
    static String of(String file) {
        try {
            if (!Files.isRegularFile(Path.of(file))) {
                // A pipe can be read only once.
                return "not a regular file";
            }
            byte[] contents = Files.readAllBytes(Path.of(file));
            return HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(contents));
        } catch (IOException | InvalidPathException e) {
            return "not readable";
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("every Java platform has SHA-256", e);
        }
    }
}
