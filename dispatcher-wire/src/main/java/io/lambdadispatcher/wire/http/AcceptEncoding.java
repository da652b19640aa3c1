package io.lambdadispatcher.wire.http;

import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.util.AsciiString;
import java.util.Iterator;
import java.util.List;

/** What a client says in {@code accept-encoding} (RFC 9110 section 12.5.3). Any thread. */
public final class AcceptEncoding {
    /** No encoding: the client accepts none, or prefers the response without one. */
    public static final int IDENTITY = -1;

    private static final AsciiString GZIP = AsciiString.cached("gzip");

    /** Means gzip (RFC 9110 section 8.4.1.3). */
    private static final AsciiString X_GZIP = AsciiString.cached("x-gzip");

    private static final AsciiString NONE = AsciiString.cached("identity");
    private static final AsciiString ANY = AsciiString.cached("*");

    private static final int NOT_NAMED = -1;
    private static final int MAX_WEIGHT = 1000;

    private AcceptEncoding() {}

    /**
     * Returns the index of the encoding with the highest weight. If several have it, the first one
     * wins. A client that does not send the header accepts every encoding, but may understand none,
     * so it gets {@link #IDENTITY}. So does a client that accepts nothing, as the RFC permits.
     *
     * @param encodings in the server's order of preference, in lower case
     */
    public static int choose(Http2Headers request, List<AsciiString> encodings) {
        if (!request.contains(HttpHeaderNames.ACCEPT_ENCODING)) {
            return IDENTITY;
        }
        int any = Math.max(0, weight(request, ANY));
        int best = IDENTITY;
        int bestWeight = 0;
        for (int i = 0; i < encodings.size(); i++) {
            int weight = weight(request, encodings.get(i), any);
            if (weight > bestWeight) {
                best = i;
                bestWeight = weight;
            }
        }
        return weight(request, NONE, any) > bestWeight ? IDENTITY : best;
    }

    private static int weight(Http2Headers request, AsciiString encoding, int otherwise) {
        int weight = weight(request, encoding);
        if (weight == NOT_NAMED && encoding.contentEquals(GZIP)) {
            weight = weight(request, X_GZIP);
        }
        return weight == NOT_NAMED ? otherwise : weight;
    }

    private static int weight(Http2Headers request, AsciiString encoding) {
        for (Iterator<CharSequence> values = request.valueIterator(HttpHeaderNames.ACCEPT_ENCODING);
                values.hasNext(); ) {
            int weight = weight(values.next(), encoding);
            if (weight != NOT_NAMED) {
                return weight;
            }
        }
        return NOT_NAMED;
    }

    /** Returns the weight that a list gives to an encoding, in thousandths. */
    private static int weight(CharSequence list, AsciiString encoding) {
        int at = 0;
        while (at <= list.length()) {
            int end = indexOf(list, ',', at, list.length());
            int semicolon = indexOf(list, ';', at, end);
            int from = skipSpaces(list, at, semicolon);
            int to = trimSpaces(list, from, semicolon);
            if (to - from == encoding.length() && AsciiString.regionMatches(list, true, from, encoding, 0, to - from)) {
                return semicolon == end ? MAX_WEIGHT : parameter(list, semicolon + 1, end);
            }
            at = end + 1;
        }
        return NOT_NAMED;
    }

    /** Reads {@code q=0.5}. Anything else is no weight, so the encoding is not acceptable. */
    private static int parameter(CharSequence list, int begin, int end) {
        int from = skipSpaces(list, begin, end);
        int to = trimSpaces(list, from, end);
        boolean named = to - from >= 3 && (list.charAt(from) | 0x20) == 'q' && list.charAt(from + 1) == '=';
        return named ? qvalue(list, from + 2, to) : 0;
    }

    /** Reads {@code 0.123} or {@code 1.000}, with at most three decimals. */
    private static int qvalue(CharSequence list, int from, int to) {
        int first = list.charAt(from) - '0';
        boolean point = to - from > 1 && list.charAt(from + 1) == '.';
        if (first < 0 || first > 1 || to - from > 5 || to - from > 1 && !point) {
            return 0;
        }
        int weight = first * MAX_WEIGHT;
        int unit = MAX_WEIGHT / 10;
        for (int i = from + 2; i < to; i++, unit /= 10) {
            int digit = list.charAt(i) - '0';
            if (digit < 0 || digit > 9) {
                return 0;
            }
            weight += digit * unit;
        }
        return weight <= MAX_WEIGHT ? weight : 0;
    }

    private static int indexOf(CharSequence text, char c, int from, int end) {
        int i = from;
        while (i < end && text.charAt(i) != c) {
            i++;
        }
        return i;
    }

    private static int skipSpaces(CharSequence text, int from, int end) {
        int i = from;
        while (i < end && isSpace(text.charAt(i))) {
            i++;
        }
        return i;
    }

    private static int trimSpaces(CharSequence text, int from, int end) {
        int i = end;
        while (i > from && isSpace(text.charAt(i - 1))) {
            i--;
        }
        return i;
    }

    private static boolean isSpace(char c) {
        return c == ' ' || c == '\t';
    }
}
