package io.lambdadispatcher.bench.frame;

import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.util.AsciiString;

/** Request headers of typical clients, together with the headers that a dispatcher adds. */
public enum Heads {
    BROWSER(
            ":method", "GET",
            ":scheme", "https",
            ":authority", "www.example.com",
            ":path", "/products/4711?ref=home",
            "user-agent", "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0",
            "accept", "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
            "accept-language", "en-GB,en;q=0.5",
            "accept-encoding", "gzip, deflate, br, zstd",
            "referer", "https://www.example.com/",
            "cookie", "session=5f3c1e0a9b7d4c2e8a6f0d1b3c5e7f90; theme=dark; consent=20261121",
            "upgrade-insecure-requests", "1",
            "sec-fetch-dest", "document",
            "sec-fetch-mode", "navigate",
            "sec-fetch-site", "same-origin",
            "x-forwarded-for", "203.0.113.7",
            "x-forwarded-proto", "https",
            "via", "2.0 dispatcher"),

    API(
            ":method", "POST",
            ":scheme", "https",
            ":authority", "api.example.com",
            ":path", "/v1/orders",
            "user-agent", "okhttp/5.1.0",
            "accept", "application/json",
            "accept-encoding", "gzip",
            "authorization", "Bearer eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiI0NzExIn0.MEUCIQDx0rJ1bT7mZq",
            "content-type", "application/json",
            "content-length", "312",
            "x-request-id", "0f8fad5b-d9cb-469f-a165-70867728950e",
            "x-forwarded-for", "203.0.113.7",
            "x-forwarded-proto", "https",
            "via", "2.0 dispatcher"),

    GRPC(
            ":method", "POST",
            ":scheme", "http",
            ":authority", "orders.internal:8443",
            ":path", "/shop.v1.Orders/Get",
            "user-agent", "grpc-java-netty/1.76.0",
            "content-type", "application/grpc",
            "te", "trailers",
            "grpc-accept-encoding", "gzip",
            "grpc-timeout", "5S",
            "traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "x-forwarded-for", "10.0.3.17",
            "x-forwarded-proto", "http",
            "via", "2.0 dispatcher");

    private final String[] namesAndValues;

    Heads(String... namesAndValues) {
        this.namesAndValues = namesAndValues;
    }

    /** Returns new request headers, which the caller may change. */
    Http2Headers request() {
        Http2Headers head = new DefaultHttp2Headers();
        for (int i = 0; i < namesAndValues.length; i += 2) {
            head.add(AsciiString.cached(namesAndValues[i]), AsciiString.cached(namesAndValues[i + 1]));
        }
        return head;
    }
}
