package io.lambdadispatcher.worker.config;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.lambdadispatcher.wire.worker.LaunchToken;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class ConfigTest {
    private static final String REQUIRED =
            "\"function\":\"f\",\"workerId\":\"w\",\"token\":\"t\",\"addresses\":[\"10.0.0.1:8444\",\"[::1]:1\"]";

    /** A token with such a name could not be signed, which nobody would see. */
    @Test
    void should_refuse_names_with_characters_that_nobody_sees() {
        List<InetSocketAddress> addresses = List.of(new InetSocketAddress("127.0.0.1", 1));
        assertThatThrownBy(() -> WorkerConfig.of("f\u200B", "0123456789abcdef", addresses.get(0)))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("function is 'f\\u200b', expected 1 to 256 printable characters");
        assertThatThrownBy(() -> WorkerConfig.builder("f", new Credential.Token("t"), addresses)
                        .workerId("w\n"))
                .hasMessage("workerId is 'w\\u000a', expected 1 to 256 printable characters");
    }

    @Test
    void should_read_a_payload_and_skip_what_it_does_not_know() {
        WorkerConfig config = WorkerConfig.ofPayload("{" + REQUIRED
                + ",\"connections\":3,\"streams\":7,\"tls\":true,\"protocolVersion\":1,\"later\":{\"a\":[1]},"
                + "\"deadlineMillis\":900000}");
        assertThat(config.function()).isEqualTo("f");
        assertThat(config.addresses()).hasSize(2);
        assertThat(config.addresses().get(1).getHostString()).isEqualTo("::1");
        assertThat(config.connections()).isEqualTo(3);
        assertThat(config.streams()).isEqualTo(7);
        assertThat(config.tls()).isNotNull();
        assertThat(config.deadline()).isEqualTo(Duration.ofMinutes(15));
        assertThat(config.untilDrain()).isEqualTo(Duration.ofSeconds(890));
    }

    /** In JSON, all of these are the same number. */
    @ParameterizedTest
    @ValueSource(strings = {"1000", "1e3", "1000.0", "0.1E+4"})
    void should_read_a_whole_number_however_it_is_written(String number) {
        assertThat(WorkerConfig.ofPayload("{" + REQUIRED + ",\"tls\":true,\"streams\":" + number + "}")
                        .streams())
                .isEqualTo(1000);
        assertThat(WorkerConfig.ofEnvironment(environment("STREAMS", number)).streams())
                .isEqualTo(1000);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "\"connections\":0|connections is 0, expected 1 to 64",
                "\"streams\":\"many\"|streams is a string, expected a whole 32-bit number",
                "\"streams\":4294967297|streams is 4294967297, expected a whole 32-bit number",
                "\"streams\":99999999999999999999|streams is 99999999999999999999, expected a whole 32-bit number",
                "\"streams\":1.5|streams is 1.5, expected a whole 32-bit number",
                "\"streams\":1e-1|streams is 0.1, expected a whole 32-bit number",
                "\"streams\":1e999999999|streams is 1E+999999999, expected a whole 32-bit number",
                "\"function\":7|function is 7, expected a string",
                "\"function\":null|function is null, expected a string",
                "\"function\":{}|function is an object, expected a string",
                "\"addresses\":true|addresses is true, expected an array of host:port",
                "\"addresses\":[8444]|addresses is 8444, expected a string",
                "\"tls\":1|tls is 1, expected true or false",
                "\"protocolVersion\":9|protocolVersion is 9, expected 1",
                "\"addresses\":[\"nohost\"]|addresses is 'nohost', expected host:port",
                "\"addresses\":[\"h:70000\"]|addresses is 'h:70000', expected host:port",
                "\"deadlineMillis\":-5|deadlineMillis is -5, expected milliseconds, 0 to 31622400000",
                "\"deadlineMillis\":99999999999999999999|deadlineMillis is 99999999999999999999, expected milliseconds",
                "\"deadlineMillis\":false|deadlineMillis is false, expected milliseconds",
                "\"tls\":true,\"tlsTrustPem\":\"/etc/trust.pem\"|trust by PEM of 14 characters, expected '-----BEGIN",
            })
    void should_name_the_bad_field_its_value_and_what_was_expected(String field, String message) {
        assertThatThrownBy(() -> WorkerConfig.ofPayload("{" + REQUIRED + ",\"tls\":false," + field + "}"))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining(message);
    }

    private static Map<String, String> environment(String... more) {
        Map<String, String> variables = new HashMap<>(Map.of(
                "LAMBDA_DISPATCHER_ADDRESSES", "a:1",
                "LAMBDA_DISPATCHER_FUNCTION", "f",
                "LAMBDA_DISPATCHER_TOKEN", "t"));
        if (more.length == 0 || !more[0].startsWith("TLS")) {
            variables.put("LAMBDA_DISPATCHER_TLS", "false");
        }
        for (int i = 0; i < more.length; i += 2) {
            variables.put("LAMBDA_DISPATCHER_" + more[i], more[i + 1]);
        }
        return variables;
    }

    @ParameterizedTest
    @CsvSource({"TLS_CERTIFICATE, TLS_KEY", "TLS_KEY, TLS_CERTIFICATE"})
    void should_refuse_half_a_client_certificate_in_the_environment(String given, String missing) {
        for (String tls : new String[] {"true", "false"}) {
            assertThatThrownBy(() -> WorkerConfig.ofEnvironment(environment("TLS", tls, given, "x.pem")))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessage("LAMBDA_DISPATCHER_" + missing
                            + " is not set, expected a PEM file, because LAMBDA_DISPATCHER_" + given + " is set");
        }
    }

    @ParameterizedTest
    @CsvSource({"tlsCertificate, tlsKey", "tlsKey, tlsCertificate"})
    void should_refuse_half_a_client_certificate_in_a_payload(String given, String missing) {
        assertThatThrownBy(() -> WorkerConfig.ofPayload("{" + REQUIRED + ",\"tls\":true,\"" + given + "\":\"x.pem\"}"))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage(missing + " is not set, expected a PEM file, because " + given + " is set");
    }

    /** The token would be sent in clear text. */
    @Test
    void should_not_dial_in_clear_text_where_anything_of_tls_is_set() {
        WorkerTls certified = WorkerTls.system().withClientCertificate(Path.of("c.pem"), Path.of("k.pem"));
        assertThat(WorkerConfig.ofEnvironment(environment("TLS_CERTIFICATE", "c.pem", "TLS_KEY", "k.pem"))
                        .tls())
                .isEqualTo(certified);
        assertThat(WorkerConfig.ofEnvironment(environment("TLS_TRUST_PEM", "trust.pem"))
                        .tls())
                .isEqualTo(WorkerTls.pem(Path.of("trust.pem")));
        assertThat(WorkerConfig.ofPayload("{" + REQUIRED + ",\"tlsCertificate\":\"c.pem\",\"tlsKey\":\"k.pem\"}")
                        .tls())
                .isEqualTo(certified);
        String fingerprint = "ab".repeat(32);
        assertThat(WorkerConfig.ofPayload("{" + REQUIRED + ",\"tlsFingerprint\":\"" + fingerprint + "\"}")
                        .tls())
                .isEqualTo(WorkerTls.fingerprint(fingerprint));
        assertThatThrownBy(() -> WorkerConfig.ofPayload("{" + REQUIRED + ",\"tlsTrustPem\":\"/etc/trust.pem\"}"))
                .hasMessageContaining("trust by PEM of 14 characters");
        assertThat(WorkerConfig.ofPayload("{" + REQUIRED + ",\"tls\":false}").tls())
                .isNull();
        assertThatThrownBy(() -> WorkerConfig.ofPayload("{" + REQUIRED + "}"))
                .hasMessageStartingWith("tlsFingerprint is not set, expected the fingerprint that")
                .hasMessageEndingWith("or tls=false for a worker port without TLS");
    }

    /** These values overflow as nanoseconds, which a worker would only notice when it runs. */
    @ParameterizedTest
    @CsvSource({
        "DEADLINE, deadline",
        "DEADLINE_MARGIN, deadlineMargin",
        "IDLE_TIMEOUT, idleTimeout",
        "DRAIN_GRACE, drainGrace",
        "LONE_TIMEOUT, loneTimeout"
    })
    void should_refuse_a_duration_that_is_too_long_to_count(String variable, String field) {
        String expected = ", expected milliseconds, 0 to 31622400000";
        for (String value : new String[] {"9223372036854775807", "31622400001", "-1"}) {
            assertThatThrownBy(() -> WorkerConfig.ofEnvironment(environment(variable + "_MILLIS", value)))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessage("LAMBDA_DISPATCHER_" + variable + "_MILLIS is '" + value + "'" + expected);
            assertThatThrownBy(() -> WorkerConfig.ofPayload("{" + REQUIRED + ",\"" + field + "Millis\":" + value + "}"))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessage(field + "Millis is " + value + expected);
        }
        WorkerConfig.ofEnvironment(environment(variable + "_MILLIS", "31622400000"));
    }

    @Test
    void should_refuse_such_a_duration_in_the_builder_too() {
        WorkerConfig.Builder builder =
                WorkerConfig.ofEnvironment(environment()).toBuilder().deadline(Duration.ofDays(367));
        assertThatThrownBy(builder::build)
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("deadline is PT8808H, expected zero to 366 days");
    }

    @Test
    void should_expect_the_key_that_follows_from_the_secret() {
        Map<String, String> variables = new HashMap<>(Map.of(
                "LAMBDA_DISPATCHER_ADDRESSES", "a:1",
                "LAMBDA_DISPATCHER_FUNCTION", "f",
                "LAMBDA_DISPATCHER_SECRET", "sixteen bytes at least"));
        WorkerTls expected = WorkerTls.fingerprint("34e7122438cc466716fedeaab9b8a82994e4027022aa6e464fbbf83885db8d0d");
        assertThat(WorkerConfig.ofEnvironment(variables).tls()).isEqualTo(expected);
        assertThat(WorkerConfig.of("f", "sixteen bytes at least", new InetSocketAddress("127.0.0.1", 1))
                        .tls())
                .isEqualTo(expected);

        variables.put("LAMBDA_DISPATCHER_TLS", "true");
        assertThat(WorkerConfig.ofEnvironment(variables).tls()).isEqualTo(WorkerTls.system());
        variables.put("LAMBDA_DISPATCHER_TLS", "false");
        assertThat(WorkerConfig.ofEnvironment(variables).tls()).isNull();
    }

    /** Nothing tells them the key of the port, so they must not dial just anybody. */
    @Test
    void should_refuse_a_key_or_a_token_without_a_fingerprint() {
        String missing = "LAMBDA_DISPATCHER_TLS_FINGERPRINT is not set, expected the fingerprint that 'dispatcher"
                + " worker keys' prints, or LAMBDA_DISPATCHER_TLS=false for a worker port without TLS";
        for (String credential : List.of("TOKEN", "FUNCTION_KEY")) {
            Map<String, String> variables = new HashMap<>(Map.of(
                    "LAMBDA_DISPATCHER_ADDRESSES",
                    "a:1",
                    "LAMBDA_DISPATCHER_FUNCTION",
                    "f",
                    "LAMBDA_DISPATCHER_" + credential,
                    "ab".repeat(32)));
            assertThatThrownBy(() -> WorkerConfig.ofEnvironment(variables)).hasMessage(missing);

            variables.put("LAMBDA_DISPATCHER_TLS_FINGERPRINT", "AB:".repeat(31) + "AB, " + "cd".repeat(32));
            assertThat(WorkerConfig.ofEnvironment(variables).tls().fingerprints())
                    .containsExactly("ab".repeat(32), "cd".repeat(32));
            variables.put("LAMBDA_DISPATCHER_TLS_FINGERPRINT", "ab".repeat(32) + ",cd");
            assertThatThrownBy(() -> WorkerConfig.ofEnvironment(variables))
                    .hasMessage("public key fingerprint 'cd', expected 64 hexadecimal digits of SHA-256");
        }
        WorkerConfig.Builder builder =
                WorkerConfig.builder("f", new Credential.Token("t"), List.of(new InetSocketAddress("127.0.0.1", 1)));
        assertThatThrownBy(builder::build)
                .hasMessage("tls is not set, expected WorkerTls.fingerprint(...) of the worker port's public key, or"
                        + " plain() for a port without TLS");
        assertThat(builder.plain().build().tls()).isNull();
    }

    @Test
    void should_name_the_missing_field_and_never_show_the_token() {
        assertThatThrownBy(() -> WorkerConfig.ofPayload("{\"function\":\"f\"}"))
                .hasMessageContaining("addresses is not set");
        assertThatThrownBy(() -> WorkerConfig.ofPayload("{\"function\":\"f\",\"addresses\":[\"h:1\"]}"))
                .hasMessageContaining("workerId is not set");
        assertThatThrownBy(() -> WorkerConfig.ofPayload("[]"))
                .hasMessage("invoke payload is an array, expected a JSON object");
        assertThatThrownBy(() -> WorkerConfig.ofPayload(""))
                .hasMessage("invoke payload is empty, expected a JSON object");
        for (String name : new String[] {"token", "secret", "functionKey"}) {
            assertThatThrownBy(() -> WorkerConfig.ofPayload(
                            "{\"function\":\"f\",\"workerId\":\"w\",\"addresses\":[],\"" + name + "\":4711}"))
                    .hasMessageStartingWith(name + " is ")
                    .hasMessageNotContaining("4711");
        }
        assertThatThrownBy(() -> WorkerConfig.ofPayload("{\"token\":\"s3cret\" oops"))
                .hasMessageContaining("not JSON")
                .hasMessageNotContaining("s3cret");
        assertThat(new Credential.Token("s3cret").toString()).doesNotContain("s3cret");
    }

    @Test
    void should_sign_with_the_key_of_its_function() throws Exception {
        byte[] secret = "0123456789abcdef".getBytes(StandardCharsets.US_ASCII);
        String key = HexFormat.of().formatHex(LaunchToken.key(secret, "f"));
        for (Map<String, String> given : List.of(
                Map.of("LAMBDA_DISPATCHER_SECRET", "0123456789abcdef"),
                Map.of("LAMBDA_DISPATCHER_FUNCTION_KEY", key))) {
            Map<String, String> environment = new HashMap<>(given);
            environment.put("LAMBDA_DISPATCHER_ADDRESSES", "a:1");
            environment.put("LAMBDA_DISPATCHER_FUNCTION", "f");
            environment.put("LAMBDA_DISPATCHER_TLS", "false");
            Credential credential = WorkerConfig.ofEnvironment(environment).credential();
            Instant now = Instant.ofEpochSecond(1_800_000_000);
            LaunchToken token = LaunchToken.verify(
                    credential.token("f", "w", now), function -> List.of(LaunchToken.key(secret, function)), now);
            assertThat(token).isEqualTo(new LaunchToken("f", "w", now.plusSeconds(300)));
            assertThat(credential.outlivesDispatcher()).isTrue();
            assertThat(credential.toString()).doesNotContain("0123456789abcdef").doesNotContain(key);
        }
        for (String bad : List.of("zyxwvutsrqponmlk", "0123456789abcdef")) {
            assertThatThrownBy(() -> new Credential.FunctionKey(bad))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageStartingWith("function key ")
                    .hasMessageNotContaining(bad);
        }
    }

    @Test
    void should_read_the_environment() {
        WorkerConfig config = WorkerConfig.ofEnvironment(Map.of(
                "LAMBDA_DISPATCHER_ADDRESSES", "a:1, b:2",
                "LAMBDA_DISPATCHER_FUNCTION", "f",
                "LAMBDA_DISPATCHER_SECRET", "0123456789abcdef",
                "LAMBDA_DISPATCHER_STREAMS", "9"));
        assertThat(config.addresses()).hasSize(2);
        assertThat(config.streams()).isEqualTo(9);
        assertThat(config.workerId()).isNull();
        assertThat(config.loneTimeout()).isZero();
        assertThat(WorkerConfig.ofEnvironment(Map.of("LAMBDA_DISPATCHER_PAYLOAD", "{" + REQUIRED + ",\"tls\":false}"))
                        .workerId())
                .isEqualTo("w");
        assertThatThrownBy(() -> WorkerConfig.ofEnvironment(Map.of()))
                .hasMessageContaining("LAMBDA_DISPATCHER_ADDRESSES is not set");
        assertThatThrownBy(() -> WorkerConfig.ofEnvironment(Map.of("LAMBDA_DISPATCHER_ADDRESSES", "a:1")))
                .hasMessageContaining("LAMBDA_DISPATCHER_FUNCTION is not set");
        assertThatThrownBy(() -> WorkerConfig.ofEnvironment(
                        Map.of("LAMBDA_DISPATCHER_ADDRESSES", "a:1", "LAMBDA_DISPATCHER_FUNCTION", "f")))
                .hasMessageContaining("LAMBDA_DISPATCHER_SECRET is not set")
                .hasMessageContaining("LAMBDA_DISPATCHER_TOKEN");
    }

    /** Dispatchers ask their fleet about such an id, and take the worker for no base worker. */
    @ParameterizedTest
    @CsvSource({"SECRET, 0123456789abcdef, false", "TOKEN, a-token, true"})
    void should_leave_the_ids_of_a_fleet_to_workers_that_it_launches(String name, String value, boolean permitted) {
        Map<String, String> environment = Map.of(
                "LAMBDA_DISPATCHER_ADDRESSES",
                "a:1",
                "LAMBDA_DISPATCHER_FUNCTION",
                "f",
                "LAMBDA_DISPATCHER_WORKER_ID",
                "fleet-1",
                "LAMBDA_DISPATCHER_TLS",
                "false",
                "LAMBDA_DISPATCHER_" + name,
                value);
        if (permitted) {
            assertThat(WorkerConfig.ofEnvironment(environment).workerId()).isEqualTo("fleet-1");
        } else {
            assertThatThrownBy(() -> WorkerConfig.ofEnvironment(environment))
                    .hasMessage("workerId is 'fleet-1', expected an id that does not begin with 'fleet-', as those of"
                            + " workers do that a fleet launches");
        }
    }
}
