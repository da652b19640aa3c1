package io.lambdadispatcher.wire.worker;

import io.netty.buffer.ByteBufUtil;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;

/** The lines of one test vector; see {@code vectors/README.md}. Immutable. */
record Vector(String file, String name, List<Line> lines) {

    /** Its first word and the rest, comments taken away. */
    record Line(String key, String value) {}

    static Stream<Vector> of(String file) {
        List<Vector> vectors = new ArrayList<>();
        text(file)
                .lines()
                .map(Vector::withoutComment)
                .filter(line -> !line.isEmpty())
                .forEach(line -> {
                    int space = line.indexOf(' ');
                    String key = space < 0 ? line : line.substring(0, space);
                    String value = space < 0 ? "" : line.substring(space + 1);
                    if (key.equals("vector") || key.equals("token")) {
                        vectors.add(new Vector(file, value, new ArrayList<>()));
                    } else {
                        vectors.get(vectors.size() - 1).lines.add(new Line(key, value));
                    }
                });
        return vectors.stream();
    }

    private static String withoutComment(String line) {
        int comment = line.startsWith("#") ? 0 : line.indexOf("  #");
        String kept = comment < 0 ? line : line.substring(0, comment);
        return kept.startsWith("hex") ? kept.replaceFirst(" #.*", "").stripTrailing() : kept.stripTrailing();
    }

    private static String text(String file) {
        try (InputStream in = Vector.class.getResourceAsStream("/vectors/" + file)) {
            if (in == null) {
                throw new IllegalArgumentException("no file of vectors is named " + file);
            }
            return new String(in.readAllBytes(), StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    List<String> all(String key) {
        return lines.stream()
                .filter(line -> line.key().equals(key))
                .map(Line::value)
                .toList();
    }

    boolean has(String key) {
        return lines.stream().anyMatch(line -> line.key().equals(key));
    }

    String one(String key) {
        List<String> values = all(key);
        if (values.size() != 1) {
            throw new IllegalArgumentException(this + " has " + values.size() + " lines '" + key + "', expected one");
        }
        return values.get(0);
    }

    byte[] bytes() {
        return ByteBufUtil.decodeHexDump(String.join("", all("hex")).replace(" ", ""));
    }

    @Override
    public String toString() {
        return file + ": " + name;
    }
}
