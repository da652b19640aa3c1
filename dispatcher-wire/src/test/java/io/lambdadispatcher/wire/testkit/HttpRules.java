package io.lambdadispatcher.wire.testkit;

import static io.lambdadispatcher.wire.testkit.HttpRules.Verdict.DROPPED;
import static io.lambdadispatcher.wire.testkit.HttpRules.Verdict.PASSED;
import static io.lambdadispatcher.wire.testkit.HttpRules.Verdict.REFUSED;

import java.util.List;
import java.util.stream.Stream;

/**
 * The rules of HTTP as a table. Each path that messages take through a dispatcher or a worker has a
 * test named {@code …HttpRulesTest} that feeds it this table and expects these verdicts.
 */
public final class HttpRules {
    /** What becomes of a header, or of the message that has it. */
    public enum Verdict {
        PASSED,
        DROPPED,
        /**
         * The message is refused: a 4xx, a 502, an exception or a reset stream, and nothing is
         * passed on.
         */
        REFUSED
    }

    /**
     * A header beside those that a message needs.
     *
     * @param nominated whether the message has a {@code connection} that nominates it
     */
    public record Header(String name, String value, boolean nominated, Verdict inRequest, Verdict inResponse) {
        /**
         * HTTP/2 has no connection-specific headers: RFC 9113 section 8.2.2 calls a message
         * malformed that has one, and a {@code te} with another value than {@code trailers}. Other
         * paths drop them.
         */
        public Verdict inHttp2(Verdict verdict) {
            boolean specific = switch (name) {
                case "connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade" -> true;
                case "te" -> !value.equals("trailers");
                default -> nominated;
            };
            return specific ? REFUSED : verdict;
        }
    }

    /** A name in trailers. */
    public record Trailer(String name, Verdict inRequest, Verdict inResponse) {}

    /** A {@code :status} as text. */
    public record Status(String text, Verdict asInterim, Verdict asFinal) {}

    /** Values of {@code content-length} for a body of {@link #BODY}. */
    public record Length(List<String> values, Verdict verdict) {
        /**
         * Well-formed, but not the length of the body. HTTP/1.1 frames the body by it, so that it
         * cannot be wrong there.
         */
        public boolean isMismatch() {
            return verdict == REFUSED && values.size() == 1 && values.get(0).matches("\\d{1,5}");
        }
    }

    /** A final response with {@link #BODY} or without. */
    public record Body(String status, boolean toHead, boolean sent, Verdict verdict) {}

    public static final String BODY = "four";

    private HttpRules() {}

    private static Header header(String name, String value, Verdict inRequest, Verdict inResponse) {
        return new Header(name, value, false, inRequest, inResponse);
    }

    public static List<Header> headers() {
        return List.of(
                header("x-end-to-end", "1", PASSED, PASSED),
                header("x_end_to_end", "1", PASSED, PASSED),
                header("x-latin", "\u00e9", PASSED, PASSED),
                header("x-tab", "a\tb", PASSED, PASSED),
                header("x-empty", "", PASSED, PASSED),
                header("trailer", "x-checksum", PASSED, PASSED),
                new Header("x-nominated", "1", true, DROPPED, DROPPED),
                new Header("x-nominated_too", "1", true, DROPPED, DROPPED),
                new Header("cookie", "a=1", true, PASSED, PASSED),
                new Header("authorization", "Basic eA==", true, PASSED, PASSED),
                new Header("cache-control", "no-cache", true, PASSED, PASSED),
                new Header("content-type", "text/plain", true, PASSED, PASSED),
                header("content_length", "4", DROPPED, PASSED),
                header("content.length", "4", DROPPED, PASSED),
                header("content_type", "text/plain", DROPPED, PASSED),
                header("connection", "close", DROPPED, DROPPED),
                header("keep-alive", "timeout=5", DROPPED, DROPPED),
                header("proxy-connection", "keep-alive", DROPPED, DROPPED),
                header("upgrade", "h2c", DROPPED, DROPPED),
                header("http2-settings", "AAMAAABkAAQAAP__", DROPPED, DROPPED),
                header("proxy-authenticate", "Basic", DROPPED, DROPPED),
                header("proxy-authorization", "Basic eA==", DROPPED, DROPPED),
                header("keep_alive", "timeout=5", DROPPED, PASSED),
                header("proxy_authorization", "Basic eA==", DROPPED, PASSED),
                header("transfer_encoding", "chunked", DROPPED, PASSED),
                header("transfer-codings", "chunked", PASSED, PASSED),
                header("te", "trailers", PASSED, DROPPED),
                header("te", "gzip", DROPPED, DROPPED),
                header("te", "x-trailers", DROPPED, DROPPED),
                header("te", "gzip, trailers", DROPPED, DROPPED),
                header("na me", "1", REFUSED, REFUSED),
                header("na\u0001me", "1", REFUSED, REFUSED),
                header("na\u00e9me", "1", REFUSED, REFUSED),
                header("na(me", "1", REFUSED, REFUSED),
                header("x-bad", "a\u0001b", REFUSED, REFUSED),
                header("x-bad", "a\u0000b", REFUSED, REFUSED),
                header("x-bad", "a\u007fb", REFUSED, REFUSED));
    }

    public static List<Trailer> trailers() {
        Stream<Trailer> passed = Stream.of("x-checksum", "x_checksum", "grpc-status", "server-timing", "etag")
                .map(name -> new Trailer(name, PASSED, PASSED));
        Stream<Trailer> disguised = Stream.of(
                        "content_length",
                        "transfer_encoding",
                        "proxy.authorization",
                        "if_none_match",
                        "idempotency_key")
                .map(name -> new Trailer(name, DROPPED, PASSED));
        Stream<Trailer> dropped = Stream.of(
                        "content-length",
                        "host",
                        "trailer",
                        "forwarded",
                        "x-forwarded-for",
                        "x_forwarded_for",
                        "lambda_dispatcher_drain_reason",
                        "lambda-dispatcher-drain-reason",
                        "cache-control",
                        "expect",
                        "if-match",
                        "if-modified-since",
                        "if-none-match",
                        "if-range",
                        "if-unmodified-since",
                        "max-forwards",
                        "pragma",
                        "range",
                        "authorization",
                        "cookie",
                        "set-cookie",
                        "www-authenticate",
                        "proxy-authenticate",
                        "proxy-authorization",
                        "http2-settings",
                        "age",
                        "date",
                        "expires",
                        "location",
                        "retry-after",
                        "vary",
                        "content-encoding",
                        "content-range",
                        "content-type")
                .map(name -> new Trailer(name, DROPPED, DROPPED));
        Stream<Trailer> refused =
                Stream.of("na me", "na\u0001me", "na(me").map(name -> new Trailer(name, REFUSED, REFUSED));
        return Stream.of(passed, disguised, dropped, refused)
                .flatMap(all -> all)
                .toList();
    }

    public static List<Status> statuses() {
        Stream<Status> interim = Stream.of("100", "102", "103", "199").map(text -> new Status(text, PASSED, REFUSED));
        Stream<Status> last = Stream.of("200", "226", "299", "300", "418", "500", "599", "600", "999")
                .map(text -> new Status(text, REFUSED, PASSED));
        Stream<Status> bad = Stream.of("101", "000", "099", "20", "2000", "2x0", "9x9", "-20", "+20", "2 0", " 20")
                .map(text -> new Status(text, REFUSED, REFUSED));
        return Stream.of(interim, last, bad).flatMap(all -> all).toList();
    }

    public static List<Length> lengths() {
        Stream<Length> passed =
                Stream.of("4", "04", "000000000000000004").map(text -> new Length(List.of(text), PASSED));
        Stream<Length> refused = Stream.of(
                        "3",
                        "5",
                        "0",
                        "",
                        "+4",
                        "-4",
                        "4x",
                        "0x4",
                        "4.0",
                        "4,4",
                        "4, 4",
                        "4 4",
                        "\u00b2",
                        "four",
                        "0000000000000000004",
                        "9223372036854775807",
                        "9223372036854775808")
                .map(text -> new Length(List.of(text), REFUSED));
        Stream<Length> repeated = Stream.of(List.of("4", "4"), List.of("4", "5"), List.of("5", "4"))
                .map(two -> new Length(two, REFUSED));
        return Stream.of(passed, refused, repeated).flatMap(all -> all).toList();
    }

    public static List<Body> bodies() {
        return List.of(
                new Body("200", false, true, PASSED),
                new Body("200", false, false, PASSED),
                new Body("200", true, false, PASSED),
                new Body("200", true, true, REFUSED),
                new Body("204", false, false, PASSED),
                new Body("204", false, true, REFUSED),
                new Body("205", false, false, PASSED),
                new Body("205", false, true, REFUSED),
                new Body("304", false, false, PASSED),
                new Body("304", false, true, REFUSED));
    }
}
