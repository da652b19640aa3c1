package io.lambdadispatcher.server.admin;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.handler.codec.http.DefaultHttpRequest;
import io.netty.handler.codec.http.FullHttpResponse;
import io.netty.handler.codec.http.HttpMethod;
import io.netty.handler.codec.http.HttpRequest;
import io.netty.handler.codec.http.HttpVersion;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class AdminAccessTest {
    private static final String TOKEN = "0123456789abcdef";
    private static final String READ_TOKEN = "0123456789abcdeh";
    private static final String OTHER_TOKEN = "0123456789abcdeg";

    private final AdminAccess open = new AdminAccess(Set.of("admin.example.org"), List.of(), List.of());
    private final AdminAccess secured = new AdminAccess(
            Set.of("admin.example.org"),
            List.of(TOKEN.getBytes(StandardCharsets.US_ASCII), OTHER_TOKEN.getBytes(StandardCharsets.US_ASCII)),
            List.of(READ_TOKEN.getBytes(StandardCharsets.US_ASCII)));

    /** @param headers names and values in turn */
    private static HttpRequest request(String... headers) {
        HttpRequest request = new DefaultHttpRequest(HttpVersion.HTTP_1_1, HttpMethod.POST, "/launching");
        for (int i = 0; i < headers.length; i += 2) {
            request.headers().add(headers[i], headers[i + 1]);
        }
        return request;
    }

    private static int status(@Nullable FullHttpResponse refusal) {
        return refusal == null ? 200 : refusal.status().code();
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "127.0.0.1",
                "127.0.0.1:9901",
                "10.1.2.3:80",
                "[::1]",
                "[::1]:9901",
                "localhost",
                "LocalHost:9901",
                "admin.example.org",
                "Admin.Example.Org:443"
            })
    void should_be_asked_under_an_address_or_a_name_of_its_own(String host) {
        assertThat(open.refuseHost(request("host", host))).isNull();
    }

    /** What a page sends whose own name resolves to this machine for a moment. */
    @ParameterizedTest
    @ValueSource(
            strings = {
                "evil.example",
                "evil.example:9901",
                "127.0.0.1.evil.example",
                "evil.admin.example.org",
                "localhost.evil.example:9901",
                "127.0.0.1:evil",
                "127.0.0.1@evil.example",
                "[evil.example]",
                "[::1].evil.example",
                "[",
                "1.2.3",
                ""
            })
    void should_not_be_asked_under_any_other_name(String host) {
        assertThat(status(open.refuseHost(request("host", host)))).isEqualTo(403);
    }

    @Test
    void should_be_asked_under_exactly_one_name() {
        assertThat(status(open.refuseHost(request()))).isEqualTo(400);
        assertThat(status(open.refuseHost(request("host", "localhost", "host", "localhost"))))
                .isEqualTo(400);
    }

    private static HttpRequest authorized(String... headers) {
        HttpRequest request = request(headers);
        request.headers().add("authorization", "Bearer " + TOKEN);
        return request;
    }

    private static @Nullable FullHttpResponse refuseChange(AdminAccess access, HttpRequest request) {
        return access.refuseChange(request, access.caller(request));
    }

    @Test
    void should_let_only_those_with_a_token_read_if_there_are_tokens_for_reading() {
        HttpRequest reader = request("host", "localhost", "authorization", "Bearer " + READ_TOKEN);

        assertThat(secured.refuseRead(secured.caller(reader))).isNull();
        assertThat(secured.refuseRead(secured.caller(authorized()))).isNull();
        assertThat(status(secured.refuseRead(secured.caller(request())))).isEqualTo(401);
        assertThat(status(secured.refuseRead(secured.caller(request("authorization", "Bearer " + READ_TOKEN + "x")))))
                .isEqualTo(401);
        assertThat(open.refuseRead(open.caller(request()))).isNull();
        assertThat(status(refuseChange(secured, reader)))
                .as("a token for reading changes nothing")
                .isEqualTo(401);
    }

    @Test
    void should_let_only_its_own_pages_change_something() {
        assertThat(status(refuseChange(secured, authorized("host", "localhost:9901"))))
                .as("no page")
                .isEqualTo(200);
        assertThat(status(
                        refuseChange(secured, authorized("host", "localhost:9901", "origin", "http://localhost:9901"))))
                .isEqualTo(200);
        assertThat(status(refuseChange(
                        secured, authorized("host", "admin.example.org", "origin", "https://admin.example.org"))))
                .as("behind a proxy for TLS")
                .isEqualTo(200);
        assertThat(status(refuseChange(
                        secured, authorized("host", "admin.example.org:443", "origin", "https://Admin.example.org"))))
                .as("behind a proxy that names the default port")
                .isEqualTo(200);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "null",
                "",
                "http://evil.example",
                "http://localhost",
                "http://localhost:8080",
                "http://localhost:99011",
                "http://127.0.0.1:9901",
                "file://localhost:9901"
            })
    void should_let_no_other_page_change_anything(String origin) {
        assertThat(status(refuseChange(secured, authorized("host", "localhost:9901", "origin", origin))))
                .isEqualTo(403);
        assertThat(status(refuseChange(
                        secured,
                        authorized("host", "localhost:9901", "origin", "http://localhost:9901", "origin", origin))))
                .as("behind a permitted one")
                .isEqualTo(403);
    }

    @Test
    void should_let_nobody_change_anything_without_a_token() {
        FullHttpResponse refusal = refuseChange(open, authorized("host", "127.0.0.1"));

        assertThat(status(refusal)).isEqualTo(403);
        assertThat(refusal.content().toString(StandardCharsets.UTF_8)).contains("Set admin.token,");
    }

    @Test
    void should_let_whoever_has_a_token_change_something_and_know_which() {
        assertThat(status(refuseChange(secured, authorized("host", "10.1.2.3"))))
                .isEqualTo(200);
        assertThat(secured.caller(authorized()).token()).isEqualTo(1);
        assertThat(secured.caller(request("authorization", "bearer " + OTHER_TOKEN))
                        .token())
                .as("RFC 9110, section 11.1: the scheme's case does not matter")
                .isEqualTo(2);
        assertThat(secured.caller(request()).token()).isZero();
        assertThat(secured.caller(request("authorization", "Bearer " + TOKEN, "authorization", "Bearer " + TOKEN))
                        .token())
                .as("two headers")
                .isZero();
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "Bearer",
                "Bearer ",
                "Bearer 0123456789abcdeF",
                "Bearer 0123456789abcde",
                "Bearer 0123456789abcdefg",
                "Basic 0123456789abcdef",
                "0123456789abcdef"
            })
    void should_let_nobody_else_change_anything(String authorization) {
        FullHttpResponse refusal = refuseChange(secured, request("host", "localhost", "authorization", authorization));

        assertThat(status(refusal)).isEqualTo(401);
        assertThat(refusal.headers().get("www-authenticate")).isEqualTo("Bearer");
        assertThat(status(refuseChange(secured, request("host", "localhost"))))
                .as("no header at all")
                .isEqualTo(401);
    }
}
