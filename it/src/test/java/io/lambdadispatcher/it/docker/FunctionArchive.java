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

/** A function's code as Lambda takes it: classes at the top, libraries in {@code lib}. */
final class FunctionArchive {
    private final ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    private final ZipOutputStream zip = new ZipOutputStream(bytes);

    private FunctionArchive() {
        // Nearly all of it is compressed already.
        zip.setLevel(Deflater.NO_COMPRESSION);
    }

    /**
     * The archive of examples/hello and a package of this class path.
     *
     * @param sample any class of the package
     */
    static SdkBytes withPackageOf(Class<?> sample) {
        return helloWith(archive -> archive.addPackage(sample));
    }

    /** The archive of examples/hello and the demo's handler. */
    static SdkBytes withDemo() {
        return helloWith(archive -> archive.add("lib/demo.jar", demoJar()));
    }

    /** The archive of examples/aws. */
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

    /** The jar of dispatcher-server, for the demo's handler and its image. */
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
