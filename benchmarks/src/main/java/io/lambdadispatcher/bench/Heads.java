package io.lambdadispatcher.bench;

import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.util.AsciiString;

/** Heads as a browser and a small service send them. */
public final class Heads {
    private static final AsciiString GET = AsciiString.cached("GET");
    private static final AsciiString HTTPS = AsciiString.cached("https");

    private Heads() {}

    public static Http2Headers request() {
        Http2Headers head = new DefaultHttp2Headers()
                .method(GET)
                .scheme(HTTPS)
                .authority(AsciiString.cached("api.example.com"))
                .path(AsciiString.cached("/ping"));
        return add(
                head,
                "user-agent",
                "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0",
                "accept",
                "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
                "accept-language",
                "en-GB,en;q=0.5",
                "accept-encoding",
                "gzip, deflate, br, zstd",
                "cookie",
                "session=5f3c1e0a9b7d4c2e8a6f0d1b3c5e7f90",
                "x-forwarded-for",
                "203.0.113.7",
                "x-forwarded-proto",
                "https",
                "via",
                "2.0 dispatcher");
    }

    public static Http2Headers response() {
        Http2Headers head = new DefaultHttp2Headers().status(AsciiString.cached("200"));
        return add(head, "content-type", "text/plain", "content-length", "4", "cache-control", "no-store");
    }

    private static Http2Headers add(Http2Headers head, String... namesAndValues) {
        for (int i = 0; i < namesAndValues.length; i += 2) {
            head.add(AsciiString.cached(namesAndValues[i]), AsciiString.cached(namesAndValues[i + 1]));
        }
        return head;
    }
}
