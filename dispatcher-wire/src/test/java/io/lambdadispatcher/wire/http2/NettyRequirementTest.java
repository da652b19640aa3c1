package io.lambdadispatcher.wire.http2;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.netty.util.Version;
import java.util.HashMap;
import java.util.Map;
import org.junit.jupiter.api.Test;

class NettyRequirementTest {
    @Test
    void should_accept_what_we_are_built_with() {
        NettyRequirement.verify();
        NettyRequirement.verify(Map.of("netty-common", "4.2.16.Final", "netty-tcnative-classes", "2.0.84.Final"), "x");
    }

    @Test
    void should_find_the_version_of_each_artifact_as_netty_does() {
        Map<String, String> versions = new HashMap<>();
        Version.identify().forEach((artifact, version) -> versions.put(artifact, version.artifactVersion()));

        assertThat(NettyRequirement.versions())
                .containsKeys("netty-common", "netty-codec-http2")
                .isEqualTo(versions);
    }

    @Test
    void should_refuse_an_older_patch_of_the_line() {
        assertThatThrownBy(() -> NettyRequirement.verify(Map.of("netty-common", "4.2.15.Final"), "x"))
                .hasMessageStartingWith(
                        "Lambda Dispatcher needs Netty 4.2.16 or a newer 4.2, found netty-common 4.2.15.Final");
    }

    @Test
    void should_name_other_versions_and_where_they_come_from() {
        assertThatThrownBy(() -> NettyRequirement.verify(
                        Map.of("netty-buffer", "4.2.18.Final", "netty-codec", "4.1.135.Final"),
                        "file:/lib/netty-common.jar"))
                .isInstanceOf(IllegalStateException.class)
                .hasMessage(
                        "Lambda Dispatcher needs Netty 4.2.16 or a newer 4.2, found netty-codec 4.1.135.Final (netty-common from"
                                + " file:/lib/netty-common.jar). Import io.netty:netty-bom of such a version before other BOMs, or exclude"
                                + " what brings the other version");
    }
}
