package io.lambdadispatcher.core.internal.ingress.http1;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.core.internal.ingress.edge.Rejection;
import io.lambdadispatcher.wire.http.ContentLength;
import io.netty.handler.codec.http.DefaultHttpHeaders;
import io.netty.handler.codec.http.DefaultHttpRequest;
import io.netty.handler.codec.http.HttpHeaders;
import io.netty.handler.codec.http.HttpMethod;
import io.netty.handler.codec.http.HttpRequest;
import io.netty.handler.codec.http.HttpVersion;
import io.netty.handler.codec.http2.Http2Headers;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class HeadTranslatorTest {
    private static final int MOST_HEADERS = 4;

    private final HeadTranslator translator = new HeadTranslator(MOST_HEADERS, 0, "https");

    /** @param fields {@code name=value} each, separated by {@code |} */
    private static HttpRequest request(String method, String target, String version, String fields) {
        HttpHeaders headers = new DefaultHttpHeaders();
        for (String field : fields.split("\\|")) {
            int end = field.indexOf('=');
            if (end >= 0) {
                headers.add(field.substring(0, end), field.substring(end + 1));
            }
        }
        return new DefaultHttpRequest(HttpVersion.valueOf(version), HttpMethod.valueOf(method), target, headers);
    }

    private static int status(Rejection rejection) {
        return rejection == null ? 0 : rejection.status().code();
    }

    @ParameterizedTest
    @CsvSource({
        "POST, HTTP/1.1, host=a, 0",
        "POST, HTTP/1.0, '', 0",
        "POST, HTTP/1.1, host=a|expect=100-Continue|transfer-encoding=Chunked, 0",
        "POST, HTTP/1.0, expect=anything, 0",
        "POST, HTTP/1.1, host=a|b=1|c=1|d=1, 0",
        "POST, HTTP/1.1, host=a|b=1|c=1|d=1|e=1, 431",
        "POST, HTTP/2.0, host=a, 505",
        "CONNECT, HTTP/1.1, host=a, 501",
        "POST, HTTP/1.0, transfer-encoding=chunked, 400",
        "POST, HTTP/1.1, host=a|transfer-encoding=gzip, 501",
        "POST, HTTP/1.1, 'host=a|transfer-encoding=gzip, chunked', 501",
        "POST, HTTP/1.1, host=a|transfer-encoding=chunked|transfer-encoding=chunked, 501",
        "GET, HTTP/1.1, host=a|sec-websocket-key1=1|sec-websocket-key2=2, 400",
        "POST, HTTP/1.1, '', 400",
        "POST, HTTP/1.1, host=a|host=a, 400",
        "POST, HTTP/1.0, host=a|host=a, 400",
        "POST, HTTP/1.1, host=a|expect=200-ok, 417",
        "POST, HTTP/1.1, host=a|expect=100-continue|expect=100-continue, 417"
    })
    void should_reject_headers_that_cannot_be_translated(String method, String version, String fields, int status) {
        HttpRequest request = request(method, "/", version, fields);
        assertThat(status(translator.verify(request, ContentLength.UNKNOWN))).isEqualTo(status);
    }

    @Test
    void should_reject_a_malformed_content_length() {
        HttpRequest request = request("POST", "/", "HTTP/1.1", "host=a");
        assertThat(status(translator.verify(request, ContentLength.MALFORMED))).isEqualTo(400);
        assertThat(translator.verify(request, 0)).isNull();
    }

    /** An authority of {@code none} is one that the translated headers do not have. */
    @ParameterizedTest
    @CsvSource({
        "GET, HTTP/1.1, /a?b, host=h:1, h:1, /a?b, 0",
        "GET, HTTP/1.1, http://x:2/a?b, host=h, x:2, /a?b, 0",
        "GET, HTTP/1.1, HTTPS://x, host=h, x, /, 0",
        "GET, HTTP/1.1, http://x?b=/c, host=h, x, /?b=/c, 0",
        "GET, HTTP/1.1, /http://x/, host=h, h, /http://x/, 0",
        "OPTIONS, HTTP/1.1, *, host=h, h, *, 0",
        "GET, HTTP/1.0, /, '', none, /, 0",
        "GET, HTTP/1.1, *, host=h, h, *, 400",
        "GET, HTTP/1.1, http://, host=h, h, http://, 400",
        "GET, HTTP/1.1, ftp://x/, host=h, h, ftp://x/, 400",
        "GET, HTTP/1.1, http:///a, host=h, none, /a, 400",
        "GET, HTTP/1.1, /, host=, none, /, 400",
        "GET, HTTP/1.1, /, host=a b, a b, /, 400",
        "GET, HTTP/1.1, http://x#c, host=h, x, #c, 400",
        "GET, HTTP/1.1, http://x/, host=, x, /, 0",
        "GET, HTTP/1.1, http://x/, host=b c/../@evil, x, /, 400"
    })
    void should_split_a_target_into_authority_and_path(
            String method, String version, String target, String fields, String authority, String path, int status) {
        HttpRequest request = request(method, target, version, fields);
        Http2Headers head = translator.toHttp2(request);
        assertThat(head.method()).hasToString(method);
        assertThat(head.scheme()).hasToString("https");
        assertThat(head.authority() == null ? "none" : head.authority()).hasToString(authority);
        assertThat(head.path()).hasToString(path);
        assertThat(head.contains("host")).isFalse();
        assertThat(status(translator.verifyTarget(request, head))).isEqualTo(status);
    }

    @Test
    void should_translate_names_to_lower_case_and_keep_the_order_of_values() {
        String fields = "Host=h|X-A=1|x-a=2|X-a=3";
        Http2Headers head = translator.toHttp2(request("GET", "/", "HTTP/1.1", fields));
        assertThat(head.getAll("x-a")).map(CharSequence::toString).containsExactly("1", "2", "3");
        assertThat(head.names()).noneMatch(name -> name.chars().anyMatch(Character::isUpperCase));

        Http2Headers trailers = HeadTranslator.toHttp2(new DefaultHttpHeaders().add("X-A", "1"));
        assertThat(trailers.get("x-a")).hasToString("1");
        assertThat(trailers).hasSize(1);
    }
}
