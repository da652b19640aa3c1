package io.lambdadispatcher.server.config;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.lambdadispatcher.server.config.Configuration.Reload;
import io.netty.pkitesting.CertificateBuilder;
import io.netty.pkitesting.X509Bundle;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What a reload changes, what it leaves for a restart, and what it refuses. */
class ReloadTest {
    private static final String SECRET = "workers.secret: 0123456789abcdef";

    @TempDir
    Path directory;

    private Configuration load(String... lines) throws IOException, ConfigurationException {
        Path file = Files.write(directory.resolve("dispatcher.yaml"), List.of(lines));
        return ConfigurationLoader.load(Map.of(), file, Map.of(), Map.of(), List.of());
    }

    private static Reload reload(Configuration start, Configuration loaded) throws ConfigurationException {
        return loaded.reload(start, start);
    }

    private static String next(int weight, String more) {
        return "- {name: next, path: /shop, weight: " + weight + more + "}";
    }

    private Configuration shops(int weight, String more) throws Exception {
        return load(SECRET, "functions:", "- {name: shop, path: /shop, weight: 90}", next(weight, more));
    }

    @Test
    void should_name_each_setting_that_changes_with_both_values() throws Exception {
        Reload reload = reload(shops(10, ""), shops(50, ", max-queued-requests: 7"));

        assertThat(reload.changes())
                .containsExactly("function next, weight: 10 -> 50", "function next, max-queued-requests: 10000 -> 7");
        assertThat(reload.restarts()).isEmpty();
        assertThat(reload.next().functions().get(1).route().weight()).isEqualTo(50);
        assertThat(reload.next().functions().get(1).options().queueLimit()).isEqualTo(7);
    }

    @Test
    void should_add_change_and_remove_routes() throws Exception {
        Configuration none = load(SECRET, "function.name: shop");
        Configuration one = load(SECRET, "function.name: shop", "routes:", "- {path: /a, request-timeout: 1s}");
        Configuration other = load(SECRET, "function.name: shop", "routes:", "- {path: /a, request-timeout: 2s}");

        assertThat(reload(none, one).changes())
                .containsExactly("routes[0]: - -> function shop, path /a, request-timeout 1s");
        assertThat(reload(one, other).changes())
                .containsExactly(
                        "routes[0]: function shop, path /a, request-timeout 1s -> function shop, path /a, request-timeout 2s");
        assertThat(reload(other, none).changes())
                .containsExactly("routes[0]: function shop, path /a, request-timeout 2s -> -");
        assertThat(reload(none, one).next().functions().get(0).routes()).hasSize(1);
    }

    @Test
    void should_find_functions_by_name_in_another_order() throws Exception {
        Configuration loaded = load(SECRET, "functions:", next(10, ""), "- {name: shop, path: /shop, weight: 90}");

        assertThat(reload(shops(10, ""), loaded).changes()).isEmpty();
    }

    @Test
    void should_leave_what_cannot_change_for_a_restart() throws Exception {
        Reload reload = reload(
                load(SECRET, "public.plain.port: 8080", "function.max-queued-requests: 1"),
                load(SECRET, "public.plain.port: 9090", "function.max-queued-requests: 2", "event-loops: 3"));

        assertThat(reload.changes()).containsExactly("function.max-queued-requests: 1 -> 2");
        assertThat(reload.restarts()).containsExactly("public.plain.port: 8080 -> 9090", "event-loops: auto -> 3");
        assertThat(reload.next().get(Settings.PUBLIC_PLAIN_PORT).port()).isEqualTo(8080);
        assertThat(reload.next().rows())
                .anySatisfy(row -> assertThat(row.name() + "=" + row.value()).isEqualTo("public.plain.port=8080"));
    }

    private Configuration onLambda(String memory) throws Exception {
        return load(
                SECRET,
                "function: {name: shop, launcher: lambda, max-workers: 9" + memory + "}",
                "routes:",
                "- {path: /slow, request-timeout: 9s}");
    }

    @Test
    void should_leave_a_concurrency_that_follows_from_memory_for_a_restart() throws Exception {
        Configuration start = onLambda("");
        String more = "function.worker-concurrency: 8 -> 16, which follows from function.worker-memory";

        Reload first = reload(start, onLambda(", worker-memory: 1024"));
        Reload second = onLambda(", worker-memory: 1024, idle-timeout: 7m").reload(start, first.next());
        Reload back = onLambda("").reload(start, second.next());

        assertThat(first.changes()).containsExactly("function.worker-memory: 512 -> 1024");
        assertThat(first.restarts()).containsExactly(more);
        assertThat(second.changes()).containsExactly("function.idle-timeout: 5m -> 7m");
        assertThat(second.restarts()).containsExactly(more);
        assertThat(second.next().functions().get(0).options())
                .matches(options -> options.streamsPerConnection() == 8)
                .matches(options -> options.launching().workerMegabytes() == 1024);
        assertThat(back.restarts()).isEmpty();
        assertThat(back.next().functions().get(0).options().streamsPerConnection())
                .isEqualTo(8);
    }

    @Test
    void should_not_turn_tls_of_the_worker_port_on_or_off() throws Exception {
        Reload off = reload(
                load(SECRET, "function.name: shop"),
                load(SECRET, "function.name: shop", "workers.tls.certificate: off"));
        assertThat(off.changes()).isEmpty();
        assertThat(off.restarts()).containsExactly("workers.tls.certificate: - -> off");
        assertThat(off.next().hasPlainWorkers()).isFalse();

        Reload on = reload(
                load(SECRET, "function.name: shop", "workers.tls.certificate: false"),
                load(SECRET, "function.name: shop"));
        assertThat(on.restarts()).containsExactly("workers.tls.certificate: false -> -");
        assertThat(on.next().hasPlainWorkers()).isTrue();
    }

    @Test
    void should_compare_with_what_is_in_force_and_not_with_the_start() throws Exception {
        Configuration start = load(SECRET, "function.max-queued-requests: 1");
        Configuration running =
                reload(start, load(SECRET, "function.max-queued-requests: 2")).next();

        assertThat(load(SECRET, "function.max-queued-requests: 1")
                        .reload(start, running)
                        .changes())
                .containsExactly("function.max-queued-requests: 2 -> 1");
    }

    @Test
    void should_leave_functions_that_are_added_or_removed_for_a_restart() throws Exception {
        Configuration shop = load(SECRET, "functions:", "- {name: shop, path: /shop, weight: 90}");

        Reload added = reload(shop, shops(10, ""));
        assertThat(added.restarts()).containsExactly("function next: added");
        assertThat(added.next().functions()).hasSize(1);

        Reload removed = reload(shops(10, ""), shop);
        assertThat(removed.restarts()).containsExactly("function next: removed");
        assertThat(removed.next().functions()).hasSize(2);
    }

    @Test
    void should_keep_the_routes_of_a_function_that_is_removed() throws Exception {
        String shop = "- {name: shop, path: /shop}";
        String ofShop = "- {function: shop, path: /shop/slow, request-timeout: 9s}";
        Configuration both = load(
                SECRET,
                "functions:",
                shop,
                "- {name: pay, path: /pay}",
                "routes:",
                "- {function: pay, path: /pay/slow, request-timeout: 8s}",
                ofShop);

        Reload removed = reload(both, load(SECRET, "functions:", shop, "routes:", ofShop));

        assertThat(removed.restarts()).containsExactly("function pay: removed");
        assertThat(removed.changes()).isEmpty();
        assertThat(removed.next().functions().get(1).routes()).hasSize(1);
    }

    @Test
    void should_refuse_what_contradicts_settings_that_need_a_restart() throws Exception {
        Configuration start = load(SECRET, "functions:", "- {name: shop, path: /shop}", "- {name: pay, path: /pay}");
        Configuration loaded = load(SECRET, "functions:", "- {name: shop, path: /pay}");

        assertThat(catchThrowableOfType(ConfigurationException.class, () -> reload(start, loaded))
                        .problems())
                .hasSize(2)
                .anySatisfy(problem -> assertThat(problem).contains("path: expected a path, host or header other than"))
                .anySatisfy(problem -> assertThat(problem).isEqualTo("needs a restart: function pay: removed"));
    }

    @Test
    void should_not_turn_tls_on_or_off() throws Exception {
        X509Bundle bundle = certificate("localhost");
        write("server", bundle);
        Configuration plain = load(SECRET);
        Configuration secure = load(SECRET, tls("server", "server"));

        assertThat(reload(plain, secure).changes()).isEmpty();
        assertThat(reload(plain, secure).restarts()).hasSize(2);
        assertThat(reload(plain, secure).next().publicTls()).isNull();
        assertThat(reload(secure, plain).next().publicTls()).isNotNull();
    }

    @Test
    void should_notice_a_file_with_the_same_name_and_other_contents() throws Exception {
        write("server", certificate("localhost"));
        Configuration start = load(SECRET, tls("server", "server"));
        assertThat(reload(start, load(SECRET, tls("server", "server"))).changes())
                .isEmpty();
        write("server", certificate("localhost"));

        assertThat(reload(start, load(SECRET, tls("server", "server"))).changes())
                .containsExactly(
                        "public.tls.certificate: " + directory.resolve("server.pem") + " with other contents",
                        "public.tls.key: " + directory.resolve("server.key") + " with other contents");
        assertThat(Configuration.currentDigests(start.digests().keySet()))
                .isNotEqualTo(start.digests())
                .containsKey(directory.resolve("server.key"));
    }

    @Test
    void should_take_a_file_that_fits_in_no_array_for_one_that_cannot_be_read() throws Exception {
        Path large = directory.resolve("large");
        try (RandomAccessFile file = new RandomAccessFile(large.toFile(), "rw")) {
            file.setLength(3L << 30);
        }

        assertThat(Configuration.currentDigests(Set.of(large))).containsEntry(large, "not readable");
    }

    @Test
    void should_never_show_a_secret() throws Exception {
        Reload reload = reload(
                load(SECRET, "admin.token: the-first-admin-token"),
                load(SECRET, "admin.token: the-second-admin-token"));

        assertThat(reload.changes()).containsExactly("admin.token: (secret) with other contents");
    }

    @Test
    void should_refuse_a_key_that_belongs_to_another_certificate() throws Exception {
        write("server", certificate("localhost"));
        write("other", certificate("localhost"));

        assertThat(catchThrowableOfType(ConfigurationException.class, () -> load(SECRET, tls("server", "other")))
                        .problems())
                .singleElement()
                .asString()
                .startsWith("public.tls.certificate, public.tls.key: private key file "
                        + directory.resolve("other.key")
                        + ": expected the key of the first certificate in certificate chain file "
                        + directory.resolve("server.pem") + ", got another key ("
                        + directory.resolve("dispatcher.yaml") + " line 2, column 14; ");
    }

    private static X509Bundle certificate(String name) throws Exception {
        return new CertificateBuilder()
                .subject("CN=" + name)
                .ecp256()
                .setIsCertificateAuthority(true)
                .buildSelfSigned();
    }

    private void write(String name, X509Bundle bundle) throws IOException {
        Files.writeString(directory.resolve(name + ".pem"), bundle.getCertificatePathPEM());
        Files.writeString(directory.resolve(name + ".key"), bundle.getPrivateKeyPEM());
    }

    private String tls(String certificate, String key) {
        return "public.tls: {certificate: \"" + directory.resolve(certificate + ".pem") + "\", key: \""
                + directory.resolve(key + ".key") + "\"}";
    }
}
