package io.lambdadispatcher.server;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.server.config.Configuration;
import io.lambdadispatcher.server.config.ConfigurationLoader;
import io.lambdadispatcher.server.config.ListenAddress;
import io.lambdadispatcher.server.config.Settings;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class DemoCommandTest {
    private final StringWriter out = new StringWriter();
    private ServerSocket taken;

    @BeforeEach
    void takePort() throws IOException {
        taken = new ServerSocket(0, 1, InetAddress.getByName("127.0.0.1"));
    }

    @AfterEach
    void givePortBack() throws IOException {
        taken.close();
    }

    private static Configuration configuration(Map<String, String> flags) throws Exception {
        return ConfigurationLoader.load(
                Map.of(
                        Settings.PUBLIC_PLAIN_PORT, "127.0.0.1:0",
                        Settings.PUBLIC_TLS_PORT, "0",
                        Settings.WORKERS_PORT, "0",
                        Settings.ADMIN_PORT, "off",
                        Settings.WORKERS_SECRET, "0123456789abcdef"),
                null,
                Map.of(),
                flags,
                List.of());
    }

    @Test
    void should_take_a_free_port_where_the_default_is_taken() throws Exception {
        String port = Integer.toString(taken.getLocalPort());
        Configuration configuration =
                configuration(Map.of()).withDefault(Settings.PUBLIC_PLAIN_PORT, "127.0.0.1:" + port);

        Configuration free = DemoCommand.withFreePorts(configuration, new PrintWriter(out));

        assertThat(free.get(Settings.PUBLIC_PLAIN_PORT).port()).isEqualTo(0);
        assertThat(out.toString().trim())
                .isEqualTo("Port " + port + " (public.plain.port) is in use. The demo uses a free port instead.");
    }

    @Test
    void should_keep_a_port_that_was_chosen() throws Exception {
        String port = Integer.toString(taken.getLocalPort());
        Configuration configuration = configuration(Map.of("--public-plain-port", port));

        Configuration free = DemoCommand.withFreePorts(configuration, new PrintWriter(out));

        assertThat(free.get(Settings.PUBLIC_PLAIN_PORT).port()).isEqualTo(taken.getLocalPort());
        assertThat(out.toString()).isEmpty();
    }

    @Test
    void should_keep_a_default_port_that_is_free() throws Exception {
        String port = Integer.toString(taken.getLocalPort());
        taken.close();
        Configuration configuration =
                configuration(Map.of()).withDefault(Settings.PUBLIC_PLAIN_PORT, "127.0.0.1:" + port);

        Configuration free = DemoCommand.withFreePorts(configuration, new PrintWriter(out));

        assertThat(free.get(Settings.PUBLIC_PLAIN_PORT).port()).isEqualTo(taken.getLocalPort());
    }

    @Test
    void should_wait_for_the_slowest_function_of_a_list(@TempDir Path directory) throws Exception {
        Path file = directory.resolve("dispatcher.yaml");
        Files.writeString(
                file,
                "workers.secret: 0123456789abcdef\nfunctions:\n- {name: a, launch-timeout: 2m}\n- {name: b, path: /b}");

        assertThat(DemoCommand.readyWithin(ConfigurationLoader.load(Map.of(), file, Map.of(), Map.of(), List.of())))
                .isEqualTo(Duration.ofSeconds(130));
    }

    @Test
    void should_listen_on_loopback_unless_an_address_is_given() throws Exception {
        Configuration configuration = configuration(Map.of("--public-plain-port", "80", "--workers-port", "0.0.0.0:81"))
                .onLoopback();

        assertThat(configuration.get(Settings.PUBLIC_PLAIN_PORT)).isEqualTo(new ListenAddress("127.0.0.1", 80, false));
        assertThat(configuration.get(Settings.PUBLIC_TLS_PORT).host()).isEqualTo("127.0.0.1");
        assertThat(configuration.get(Settings.WORKERS_PORT).host()).isEqualTo("0.0.0.0");
        assertThat(configuration.get(Settings.ADMIN_PORT).isOff()).isTrue();
    }
}
