package io.lambdadispatcher.bench.load;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.handler.codec.http.HttpMethod;
import io.netty.handler.codec.http.HttpScheme;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.handler.codec.http2.ReadOnlyHttp2Headers;
import io.netty.util.AsciiString;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * A request that the load repeats. All requests share its headers and, unless they are numbered,
 * its body.
 *
 * @param body owned by the order, which releases it; see {@link #body(long)}
 * @param numbered whether the body of each request is its number
 * @param weight number of requests of this kind in each round
 * @param responseBytes size of the body of a good response
 */
record RequestKind(int weight, Http2Headers head, ByteBuf body, boolean numbered, int responseBytes) {
    private static final String NUMBERED = "numbered";

    /**
     * @param text {@code weight:path:responseBytes} for a GET, followed by {@code :file} for a POST
     *     of that file, or by {@code :numbered} for a POST of the request's number
     * @throws IllegalArgumentException if it is not of this form
     */
    static RequestKind parse(String text, String authority) {
        String[] parts = text.split(":", 4);
        if (parts.length < 3 || !parts[0].matches("[1-9]\\d{0,3}") || !parts[2].matches("\\d{1,9}")) {
            throw new IllegalArgumentException("request '" + text
                    + "', expected weight:path:responseBytes, followed by nothing, :file or :numbered");
        }
        boolean numbered = parts.length == 4 && parts[3].equals(NUMBERED);
        ByteBuf body = parts.length < 4 || numbered ? Unpooled.EMPTY_BUFFER : content(Path.of(parts[3]));
        HttpMethod method = parts.length < 4 ? HttpMethod.GET : HttpMethod.POST;
        Http2Headers head = ReadOnlyHttp2Headers.clientHeaders(
                false,
                method.asciiName(),
                AsciiString.of(parts[1]),
                HttpScheme.HTTP.name(),
                AsciiString.of(authority),
                AsciiString.cached("user-agent"),
                AsciiString.cached("constant-rate"));
        return new RequestKind(Integer.parseInt(parts[0]), head, body, numbered, Integer.parseInt(parts[2]));
    }

    /**
     * Returns the body of one request, which the caller releases. A number has the form {@code
     * <000000000042>}. It is there twice, so that a reader finds it whole in one of two packets if
     * the body is divided.
     */
    ByteBuf body(long number) {
        return numbered
                ? Unpooled.copiedBuffer("<%012d>".formatted(number).repeat(2), StandardCharsets.US_ASCII)
                : body.retainedDuplicate();
    }

    private static ByteBuf content(Path file) {
        try {
            byte[] bytes = Files.readAllBytes(file);
            return Unpooled.directBuffer(Math.max(1, bytes.length)).writeBytes(bytes);
        } catch (IOException e) {
            throw new UncheckedIOException("no request body in " + file, e);
        }
    }
}
