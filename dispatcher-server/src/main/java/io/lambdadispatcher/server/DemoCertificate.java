package io.lambdadispatcher.server;

import io.netty.pkitesting.CertificateBuilder;
import io.netty.pkitesting.X509Bundle;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.time.Instant;
import java.util.Set;

/**
 * A self-signed certificate for localhost and its private key, valid for a week. The files are in a
 * temporary directory that only its owner can read.
 *
 * @param directory holds only the certificate and the key
 */
record DemoCertificate(Path directory, Path certificate, Path key) implements AutoCloseable {

    static DemoCertificate create() throws StartException {
        try {
            Path directory = Files.createTempDirectory("lambda-dispatcher-", ownerOnly("rwx------"));
            DemoCertificate files =
                    new DemoCertificate(directory, directory.resolve("cert.pem"), directory.resolve("key.pem"));
            X509Bundle bundle = selfSigned();
            write(files.certificate, bundle.getCertificatePathPEM());
            write(files.key, bundle.getPrivateKeyPEM());
            return files;
        } catch (Exception e) {
            throw new StartException("cannot create the self-signed certificate of the demo: " + e, e);
        }
    }

    private static X509Bundle selfSigned() throws Exception {
        return new CertificateBuilder()
                .subject("CN=localhost, O=Lambda Dispatcher demo")
                .notBefore(Instant.now().minus(Duration.ofHours(1)))
                .notAfter(Instant.now().plus(Duration.ofDays(7)))
                .ecp256()
                .setIsCertificateAuthority(true)
                .addSanDnsName("localhost")
                .addSanIpAddress("127.0.0.1")
                .addSanIpAddress("::1")
                .buildSelfSigned();
    }

    private static void write(Path file, String pem) throws IOException {
        Files.createFile(file, ownerOnly("rw-------"));
        Files.writeString(file, pem, StandardOpenOption.WRITE);
    }

    /**
     * Returns nothing if the file system has no POSIX permissions. Such systems have a separate
     * temporary directory for each user.
     */
    private static FileAttribute<?>[] ownerOnly(String permissions) {
        Set<String> views = Path.of("").getFileSystem().supportedFileAttributeViews();
        return views.contains("posix")
                ? new FileAttribute<?>[] {
                    PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString(permissions))
                }
                : new FileAttribute<?>[0];
    }

    /** Deletes the files. Further calls have no effect. */
    @Override
    public void close() {
        for (Path path : new Path[] {certificate, key, directory}) {
            try {
                Files.deleteIfExists(path);
            } catch (IOException e) {
                // The file cannot be deleted now. Only its owner can read it.
                path.toFile().deleteOnExit();
            }
        }
    }
}
