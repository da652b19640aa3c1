package io.lambdadispatcher.server.admin;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.handler.codec.http.DefaultHttpRequest;
import io.netty.handler.codec.http.FullHttpResponse;
import io.netty.handler.codec.http.HttpMethod;
import io.netty.handler.codec.http.HttpRequest;
import io.netty.handler.codec.http.HttpVersion;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class AdminAccessTest {
    private static final InetSocketAddress LOOPBACK = new InetSocketAddress("127.0.0.1", 50000);
    private static final InetSocketAddress ELSEWHERE = new InetSocketAddress("192.0.2.7", 50000);
    private static final String TOKEN = "0123456789abcdef";

    private final AdminAccess open = new AdminAccess(Set.of("admin.example.org"), null);
    private final AdminAccess secured = new AdminAccess(Set.of(), TOKEN.getBytes(StandardCharsets.US_ASCII));

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

    @Test
    void should_let_only_its_own_pages_change_something() {
        assertThat(status(open.refuseChange(request("host", "localhost:9901"), LOOPBACK)))
                .as("no page")
                .isEqualTo(200);
        assertThat(status(open.refuseChange(
                        request("host", "localhost:9901", "origin", "http://localhost:9901"), LOOPBACK)))
                .isEqualTo(200);
        assertThat(status(open.refuseChange(
                        request("host", "admin.example.org", "origin", "https://admin.example.org"), LOOPBACK)))
                .as("behind a proxy for TLS")
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
        assertThat(status(open.refuseChange(request("host", "localhost:9901", "origin", origin), LOOPBACK)))
                .isEqualTo(403);
        assertThat(status(open.refuseChange(
                        request("host", "localhost:9901", "origin", "http://localhost:9901", "origin", origin),
                        LOOPBACK)))
                .as("behind a permitted one")
                .isEqualTo(403);
    }

    @Test
    void should_let_only_this_machine_change_something_without_a_token() {
        assertThat(status(open.refuseChange(request("host", "10.1.2.3"), new InetSocketAddress("::1", 50000))))
                .isEqualTo(200);
        assertThat(status(open.refuseChange(request("host", "10.1.2.3"), ELSEWHERE)))
                .isEqualTo(403);
    }

    @Test
    void should_let_whoever_has_the_token_change_something() {
        assertThat(status(secured.refuseChange(
                        request("host", "10.1.2.3", "authorization", "Bearer " + TOKEN), ELSEWHERE)))
                .isEqualTo(200);
        assertThat(status(secured.refuseChange(
                        request("host", "10.1.2.3", "authorization", "bearer " + TOKEN), ELSEWHERE)))
                .as("RFC 9110, section 11.1: the scheme's case does not matter")
                .isEqualTo(200);
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
        FullHttpResponse refusal =
                secured.refuseChange(request("host", "localhost", "authorization", authorization), LOOPBACK);

        assertThat(status(refusal)).isEqualTo(401);
        assertThat(refusal.headers().get("www-authenticate")).isEqualTo("Bearer");
        assertThat(status(secured.refuseChange(request("host", "localhost"), LOOPBACK)))
                .as("no header at all")
                .isEqualTo(401);
    }

    @Test
    void should_want_the_token_and_the_origin() {
        assertThat(status(secured.refuseChange(
                        request(
                                "host", "localhost",
                                "origin", "http://evil.example",
                                "authorization", "Bearer " + TOKEN),
                        LOOPBACK)))
                .isEqualTo(403);
    }
}
