package io.lambdadispatcher.server.config;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;

/** A secret in a file, as orchestrators mount them. */
public final class SecretFile {
    private SecretFile() {}

    /** All octets but a line end that an editor may have added. */
    public static byte[] read(Path file) throws IOException {
        byte[] octets = Files.readAllBytes(file);
        int length = octets.length;
        while (length > 0 && (octets[length - 1] == '\n' || octets[length - 1] == '\r')) {
            length--;
        }
        return Arrays.copyOf(octets, length);
    }
}
