package io.lambdadispatcher.server;

import io.lambdadispatcher.wire.worker.CertificateWriter;
import java.io.IOException;
import java.net.InetAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.GeneralSecurityException;
import java.security.KeyPair;
import java.security.KeyPairGenerator;
import java.security.cert.X509Certificate;
import java.security.spec.ECGenParameterSpec;
import java.time.Duration;
import java.util.Base64;
import java.util.List;
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
            KeyPairGenerator generator = KeyPairGenerator.getInstance("EC");
            generator.initialize(new ECGenParameterSpec("secp256r1"));
            KeyPair keys = generator.generateKeyPair();
            byte[] certificate = selfSigned(keys).getEncoded();
            write(files.certificate, "CERTIFICATE", certificate);
            write(files.key, "PRIVATE KEY", keys.getPrivate().getEncoded());
            return files;
        } catch (Exception e) {
            throw new StartException("cannot create the self-signed certificate of the demo: " + e, e);
        }
    }

    private static X509Certificate selfSigned(KeyPair keys) throws GeneralSecurityException, IOException {
        return CertificateWriter.selfSigned(
                keys,
                "localhost",
                Duration.ofDays(7),
                List.of("localhost"),
                List.of(
                        InetAddress.getByName("127.0.0.1").getAddress(),
                        InetAddress.getByName("::1").getAddress()));
    }

    /** Writes PEM (RFC 7468). */
    private static void write(Path file, String label, byte[] der) throws IOException {
        Files.createFile(file, ownerOnly("rw-------"));
        String lines = Base64.getMimeEncoder(64, new byte[] {'\n'}).encodeToString(der);
        Files.writeString(
                file,
                "-----BEGIN " + label + "-----\n" + lines + "\n-----END " + label + "-----\n",
                StandardOpenOption.WRITE);
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
