package io.lambdadispatcher.it.docker;

import io.lambdadispatcher.server.demo.DemoHandler;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URISyntaxException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import java.util.zip.Deflater;
import java.util.zip.ZipEntry;
import java.util.zip.ZipInputStream;
import java.util.zip.ZipOutputStream;
import software.amazon.awssdk.core.SdkBytes;

/**
 * Creates a function's archive as Lambda expects it: classes at the top, libraries in {@code lib}.
 */
final class FunctionArchive {
    private final ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    private final ZipOutputStream zip = new ZipOutputStream(bytes);

    private FunctionArchive() {
        // Nearly all of the content is already compressed.
        zip.setLevel(Deflater.NO_COMPRESSION);
    }

    /**
     * Returns the archive of examples/hello with a package of this class path.
     *
     * @param sample any class of the package
     */
    static SdkBytes withPackageOf(Class<?> sample) {
        return helloWith(archive -> archive.addPackage(sample));
    }

    /** Returns the archive of examples/hello with the demo's handler. */
    static SdkBytes withDemo() {
        return helloWith(archive -> archive.add("lib/demo.jar", demoJar()));
    }

    /** Returns the archive of examples/aws. */
    static SdkBytes ofAwsExample() {
        try {
            return SdkBytes.fromByteArrayUnsafe(Files.readAllBytes(Path.of(System.getProperty("it.aws.zip"))));
        } catch (IOException e) {
            throw new UncheckedIOException("the function archive, which the package phase of examples/aws makes", e);
        }
    }

    private interface Addition {
        void addTo(FunctionArchive archive) throws IOException;
    }

    private static SdkBytes helloWith(Addition addition) {
        FunctionArchive archive = new FunctionArchive();
        try (archive.zip) {
            archive.addAll(Path.of(System.getProperty("it.function.zip")));
            addition.addTo(archive);
        } catch (IOException e) {
            throw new UncheckedIOException("the function archive, which the package phase of examples/hello makes", e);
        }
        return SdkBytes.fromByteArrayUnsafe(archive.bytes.toByteArray());
    }

    /** Returns the jar of dispatcher-server, which has the demo's handler and its image. */
    static Path demoJar() {
        try {
            return Path.of(DemoHandler.class
                    .getProtectionDomain()
                    .getCodeSource()
                    .getLocation()
                    .toURI());
        } catch (URISyntaxException e) {
            throw new IllegalStateException(e);
        }
    }

    private void addAll(Path other) throws IOException {
        try (ZipInputStream in = new ZipInputStream(Files.newInputStream(other))) {
            for (ZipEntry entry = in.getNextEntry(); entry != null; entry = in.getNextEntry()) {
                zip.putNextEntry(new ZipEntry(entry.getName()));
                in.transferTo(zip);
            }
        }
    }

    private void addPackage(Class<?> sample) throws IOException {
        String directory = sample.getPackageName().replace('.', '/') + "/";
        for (Path file : classFiles(sample)) {
            add(directory + file.getFileName(), file);
        }
    }

    private static List<Path> classFiles(Class<?> sample) throws IOException {
        try (Stream<Path> files = Files.list(Path.of(sample.getResource("").toURI()))) {
            return files.filter(file -> file.toString().endsWith(".class")).toList();
        } catch (URISyntaxException e) {
            throw new IOException(e);
        }
    }

    private void add(String name, Path file) throws IOException {
        zip.putNextEntry(new ZipEntry(name));
        Files.copy(file, zip);
    }
}
