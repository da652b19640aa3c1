package io.lambdadispatcher.wire.http;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.util.AsciiString;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class EncodedRepresentationTest {

    private static FlatHeaders request(String method, String... namesAndValues) {
        FlatHeaders head = new FlatHeaders();
        head.method(method).path("/");
        for (int i = 0; i < namesAndValues.length; i += 2) {
            head.add(namesAndValues[i], namesAndValues[i + 1]);
        }
        return head;
    }

    @ParameterizedTest
    @CsvSource(
            quoteCharacter = '\'',
            value = {
                "\"a\"",
                "W/\"a\"",
                "\"\"",
                "W/\"\"",
                "\"a;w\"",
                "W/\"a;w\"",
                "\"a;gzip\"",
                "'\"a, b\"'",
                "W/\"a-gzip\"",
            })
    void should_give_the_application_its_own_tag_back(String tag) {
        for (String encoding : new String[] {"gzip", "br", "zstd"}) {
            FlatHeaders response = request("GET", "etag", tag);
            EncodedRepresentation.tag(response, AsciiString.of(encoding));
            String sent = String.valueOf(response.get("etag"));
            assertThat(sent).startsWith("W/\"").isNotEqualTo(tag);
            for (String method : new String[] {"PUT", "DELETE", "GET"}) {
                FlatHeaders head =
                        request(method, "if-match", sent, "if-none-match", sent, "accept-encoding", encoding);
                EncodedRepresentation.restoreConditions(head);
                assertThat(head)
                        .isEqualTo(request(method, "if-match", tag, "if-none-match", tag, "accept-encoding", encoding));
            }
        }
    }

    /** What is sent has the bytes of the tag: valid UTF-8 or not (RFC 9110 section 8.8.3). */
    @Test
    void should_keep_the_bytes_of_a_tag_whatever_they_are() {
        for (int first = 0x80; first <= 0xFF; first++) {
            for (int second = 0x80; second <= 0xFF; second++) {
                String tag = "\"a" + (char) first + (char) second + "\"";
                FlatHeaders response = new FlatHeaders();
                response.add("etag", new AsciiString(tag));
                EncodedRepresentation.tag(response, AsciiString.of("gzip"));
                String sent = "W/\"a" + (char) first + (char) second + ";gzip\"";
                assertThat(sentBytes(response, "etag")).isEqualTo(sent);

                FlatHeaders head = request("GET", "accept-encoding", "gzip");
                head.add("if-none-match", new AsciiString(sent)).add("if-match", new AsciiString(sent));
                EncodedRepresentation.restoreConditions(head);
                assertThat(sentBytes(head, "if-none-match")).isEqualTo(tag);
                assertThat(sentBytes(head, "if-match")).isEqualTo(tag);

                FlatHeaders notModified = new FlatHeaders();
                notModified.add("etag", new AsciiString(tag));
                EncodedRepresentation.describeNotModified(notModified, head, sent);
                assertThat(sentBytes(notModified, "etag")).isEqualTo(sent);
            }
        }
    }

    private static String sentBytes(FlatHeaders head, String name) {
        return OutgoingHeaders.ofTrailers(new FlatHeaders().add(name, head.get(name)))
                .get(name)
                .toString();
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            nullValues = "none",
            value = {
                // What the client has must be what it accepts now.
                "gzip      | W/\"a;gzip\"                  | \"a\"",
                "br, gzip  | W/\"a;gzip\"                  | \"a\"",
                "br        | W/\"a;gzip\"                  | none",
                "none      | W/\"a;gzip\"                  | none",
                "gzip;q=0  | W/\"a;gzip\"                  | none",
                "br        | W/\"a;gzip\", \"b\"           | \"b\"",
                "gzip      | W/\"a;w-gzip\", W/\"b;gzip\"  | W/\"a\", \"b\"",
                "gzip      | \"a\" ,W/\"b\"                | \"a\" ,W/\"b\"",
                "gzip      | *                             | *",
                "gzip      | unquoted, W/\"                | unquoted, W/\"",
            })
    void should_confirm_only_copies_that_the_client_accepts(String accepted, String tags, String expected) {
        FlatHeaders head = request("GET", "if-none-match", tags, "if-modified-since", "then");
        if (accepted != null) {
            head.add("accept-encoding", accepted);
        }
        EncodedRepresentation.restoreConditions(head);
        assertThat(head.contains("if-none-match")).isEqualTo(expected != null);
        assertThat(head.contains("if-none-match", String.valueOf(expected))).isEqualTo(expected != null);
        assertThat(head.contains("if-modified-since")).isEqualTo(expected != null);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            nullValues = "none",
            value = {
                "if-range            | \"a\"               | true",
                "if-range            | W/\"a\"             | false",
                "if-range            | W/\"a;gzip\"        | false",
                "if-range            | Fri, 20 Nov 2026 10:00:00 GMT | false",
                "if-unmodified-since | Fri, 20 Nov 2026 10:00:00 GMT | false",
                "if-match            | \"a\"               | true",
                "if-match            | \"b\", W/\"a;gzip\" | false",
                "if-modified-since   | Fri, 20 Nov 2026 10:00:00 GMT | true",
                "accept              | text/html           | true",
            })
    void should_pass_a_range_on_only_if_it_continues_bytes_of_the_application(
            String name, String value, boolean passed) {
        FlatHeaders head = request("GET", "range", "bytes=5-", name, value, "accept-encoding", "gzip");
        EncodedRepresentation.restoreConditions(head);
        assertThat(head.contains("range")).isEqualTo(passed);
        assertThat(head.contains("if-range")).isEqualTo(passed && name.equals("if-range"));
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            nullValues = "none",
            value = {
                "W/\"a;gzip\"          | \"a\"   | W/\"a;gzip\"",
                "\"a\", W/\"a;gzip\"   | \"a\"   | W/\"a;gzip\"",
                "W/\"a;br\", \"a\"     | \"a\"   | \"a\"",
                "\"a\"                 | \"a\"   | \"a\"",
                "W/\"a\"               | \"a\"   | W/\"a\"",
                "W/\"a;w-gzip\"        | W/\"a\" | W/\"a;w-gzip\"",
                "*                     | \"a\"   | W/\"a\"",
                "none                  | \"a\"   | W/\"a\"",
                "none                  | none    | none",
            })
    void should_name_the_copy_that_a_304_confirms(String sent, String tag, String expected) {
        FlatHeaders response = request("GET");
        if (tag != null) {
            response.add("etag", tag);
        }
        EncodedRepresentation.describeNotModified(response, request("GET", "accept-encoding", "gzip"), sent);
        assertThat(String.valueOf(response.get("etag"))).isEqualTo(String.valueOf(expected));
        assertThat(response.get("vary")).hasToString("accept-encoding");
    }

    @Test
    void should_not_let_a_date_join_a_part_to_an_encoded_response() {
        FlatHeaders tagged = request("GET", "etag", "\"a\"", "last-modified", "then");
        EncodedRepresentation.describePart(tagged);
        assertThat(tagged.contains("last-modified")).isTrue();
        FlatHeaders dated = request("GET", "last-modified", "then");
        EncodedRepresentation.describePart(dated);
        assertThat(dated).isEqualTo(request("GET", "vary", "accept-encoding"));
    }
}
