package io.lambdadispatcher.server;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.lambdadispatcher.core.options.Transport;
import io.lambdadispatcher.server.config.Configuration;
import io.lambdadispatcher.server.config.ConfigurationLoader;
import io.lambdadispatcher.server.config.FunctionSettings;
import io.lambdadispatcher.server.config.Setting;
import io.lambdadispatcher.server.config.Settings;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import software.amazon.awssdk.regions.providers.AwsRegionProviderChain;

class DispatcherAssemblyTest {
    /** As on a machine without a network. */
    @Test
    void should_say_in_one_line_that_there_is_no_address_for_workers_to_dial() throws Exception {
        Configuration configuration = ConfigurationLoader.load(
                Map.of(
                        FunctionSettings.FUNCTION_LAUNCHER, "lambda",
                        FunctionSettings.FUNCTION_LAMBDA, "images",
                        FunctionSettings.FUNCTION_MAX_WORKERS, "1"),
                null,
                Map.of(),
                Map.of(),
                List.of());
        DispatcherAssembly assembly = new DispatcherAssembly(configuration, () -> {
            throw new IllegalStateException("no address that workers could dial");
        });

        assertThatThrownBy(() -> assembly.builder(Transport.nio(), InheritedSockets.none()))
                .isInstanceOf(StartException.class)
                .hasMessage("no address that workers could dial");
    }

    @Test
    void should_say_in_one_line_that_no_region_is_known() {
        RuntimeException ofSdk =
                catchThrowableOfType(RuntimeException.class, new AwsRegionProviderChain(() -> null)::getRegion);

        assertThat(DispatcherAssembly.failed("launcher lambda", ofSdk))
                .hasMessage("launcher lambda: no AWS region is known. Set aws.region, or AWS_REGION");
    }

    @Test
    void should_expect_a_proxy_header_on_the_port_that_is_set_so() throws Exception {
        Map<Setting<?>, String> settings = Map.of(Settings.WORKERS_SECRET, "0123456789abcdef");
        Configuration off = ConfigurationLoader.load(settings, null, Map.of(), Map.of(), List.of());
        Configuration on = ConfigurationLoader.load(
                settings, null, Map.of(), Map.of("--public-plain-port", "8080 proxy-protocol"), List.of());

        assertThat(new DispatcherAssembly(off).publicListeners())
                .singleElement()
                .matches(port -> !port.options().isProxyProtocol());
        assertThat(new DispatcherAssembly(on).publicListeners())
                .singleElement()
                .matches(port -> port.options().isProxyProtocol());
    }
}
