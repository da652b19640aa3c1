package io.lambdadispatcher.wire.http;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.util.AsciiString;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class ContentCodingTest {
    private static FlatHeaders response(String... namesAndValues) {
        FlatHeaders head = new FlatHeaders();
        head.status("200");
        for (int i = 0; i < namesAndValues.length; i += 2) {
            head.add(namesAndValues[i], namesAndValues[i + 1]);
        }
        return head;
    }

    @ParameterizedTest
    @ValueSource(strings = {"204", "205", "206", "304"})
    void should_leave_statuses_without_a_whole_body(String status) {
        FlatHeaders head = response();
        head.status(status);
        assertThat(ContentCoding.mayEncode(head)).isFalse();
    }

    @ParameterizedTest
    @ValueSource(strings = {"200", "201", "404", "500", "599"})
    void should_encode_other_statuses(String status) {
        FlatHeaders head = response();
        head.status(status);
        assertThat(ContentCoding.mayEncode(head)).isTrue();
    }

    @ParameterizedTest
    @CsvSource({
        "content-encoding, br",
        "content-encoding, identity",
        "content-range, bytes 0-1/2",
        "content-digest, sha-256=:a=:",
        "repr-digest, sha-256=:a=:",
        "digest, sha-256=a",
        "content-md5, a",
        "trailer, content-digest",
        "trailer, 'x,Repr-Digest\t'",
        "trailer, 'digest , x'",
        "trailer, Content-MD5",
        "trailer, ETag",
        "cache-control, no-transform",
        "cache-control, 'public,No-Transform , max-age=1'",
    })
    void should_leave_content_that_must_not_change(String name, String value) {
        assertThat(ContentCoding.mayEncode(response("cache-control", "public", name, value)))
                .isFalse();
    }

    @ParameterizedTest
    @ValueSource(strings = {"no-transformation", "x-no-transform", "max-age=1"})
    void should_encode_with_other_directives(String directive) {
        assertThat(ContentCoding.mayEncode(response("cache-control", directive)))
                .isTrue();
    }

    @ParameterizedTest
    @ValueSource(strings = {"server-timing", "etags", "x-digest, content-type"})
    void should_encode_with_other_trailers(String announced) {
        assertThat(ContentCoding.mayEncode(response("trailer", announced))).isTrue();
    }

    @Test
    void should_change_the_headers_that_describe_the_bytes() {
        FlatHeaders head = response("content-length", "9", "accept-ranges", "bytes", "etag", "\"a\"", "x", "y");
        ContentCoding.encode(head, AsciiString.of("gzip"));
        assertThat(head).isEqualTo(response("x", "y", "content-encoding", "gzip", "etag", "W/\"a;gzip\""));
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "origin                  | origin, accept-encoding",
                "Accept-Encoding         | Accept-Encoding",
                "origin, accept-encoding | origin, accept-encoding",
                "*                       | *",
                "x-accept-encoding       | x-accept-encoding, accept-encoding",
            })
    void should_say_once_on_what_the_response_depends(String before, String after) {
        FlatHeaders head = response("vary", before);
        ContentCoding.addVary(head);
        assertThat(String.join("|", head.getAll("vary"))).isEqualTo(after);
    }

    @Test
    void should_join_several_vary_headers() {
        FlatHeaders head = response("vary", "a", "vary", "b");
        ContentCoding.addVary(head);
        assertThat(String.join("|", head.getAll("vary"))).isEqualTo("a, b, accept-encoding");
    }

    @ParameterizedTest
    @CsvSource({"1023, true", "1024, false", "0, true", "none, false"})
    void should_compare_the_declared_length(String length, boolean shorter) {
        FlatHeaders head = length.equals("none") ? response() : response("content-length", length);
        assertThat(ContentCoding.isShorter(head, 1024)).isEqualTo(shorter);
    }

    @ParameterizedTest
    @CsvSource({"text/event-stream, true", "Text/Event-Stream; charset=utf-8, true", "text/html, false"})
    void should_know_event_streams(String type, boolean events) {
        assertThat(ContentCoding.isEventStream(response("content-type", type))).isEqualTo(events);
    }
}
