package io.lambdadispatcher.server;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.wire.testkit.EachRelease;
import io.netty.handler.ssl.SslContextBuilder;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.cert.CertificateFactory;
import java.security.cert.X509Certificate;
import java.util.List;
import org.junit.jupiter.api.Test;

@EachRelease
class DemoCertificateTest {
    @Test
    void should_be_good_for_this_machine_and_readable_by_its_owner_only() throws Exception {
        try (DemoCertificate files = DemoCertificate.create()) {
            assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(files.directory())))
                    .isEqualTo("rwx------");
            assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(files.key())))
                    .isEqualTo("rw-------");
            try (InputStream pem = Files.newInputStream(files.certificate())) {
                X509Certificate certificate = (X509Certificate)
                        CertificateFactory.getInstance("X.509").generateCertificate(pem);
                assertThat(certificate.getSubjectAlternativeNames())
                        .extracting(name -> (Object) name.get(1))
                        .contains("localhost", "127.0.0.1");
                certificate.verify(certificate.getPublicKey());
            }
            assertThat(SslContextBuilder.forServer(
                                    files.certificate().toFile(), files.key().toFile())
                            .build()
                            .isServer())
                    .isTrue();
        }
    }

    @Test
    void should_leave_nothing_behind() throws Exception {
        DemoCertificate files = DemoCertificate.create();
        files.close();
        files.close();

        assertThat(List.of(files.directory(), files.certificate(), files.key())).allMatch(Files::notExists);
    }
}
