package io.lambdadispatcher.worker.adapter.web;

import io.lambdadispatcher.wire.http.FlatHeaders;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.util.AsciiString;
import java.util.BitSet;
import java.util.Map;

/** What may be in a head (RFC 9110 section 5, RFC 9113 section 8.2), whoever has checked it before. */
final class Fields {
    static final AsciiString KEEP_ALIVE = AsciiString.cached("keep-alive");
    static final AsciiString PROXY_CONNECTION = AsciiString.cached("proxy-connection");
    static final AsciiString TRAILERS = AsciiString.cached("trailers");

    private static final BitSet TOKEN = new BitSet(128);

    static {
        TOKEN.set('0', '9' + 1);
        TOKEN.set('a', 'z' + 1);
        TOKEN.set('A', 'Z' + 1);
        "!#$%&'*+-.^_`|~".chars().forEach(TOKEN::set);
    }

    private Fields() {}

    static boolean isToken(CharSequence text) {
        for (int i = 0; i < text.length(); i++) {
            if (!TOKEN.get(text.charAt(i))) {
                return false;
            }
        }
        return text.length() > 0;
    }

    /** It is that name, or may be taken for it: what hands fields on as variables, as CGI does, knows neither case nor _ from -. */
    static boolean passesFor(CharSequence name, AsciiString known) {
        if (name.length() != known.length()) {
            return false;
        }
        for (int i = 0; i < known.length(); i++) {
            char c = name.charAt(i);
            if (AsciiString.toLowerCase(c == '_' ? '-' : c) != known.charAt(i)) {
                return false;
            }
        }
        return true;
    }

    /** A name that is empty is none of these, and no token either. */
    static boolean isPseudo(CharSequence name) {
        return name.length() > 0 && name.charAt(0) == ':';
    }

    /** No control characters but the tab, nothing that is more than an octet. */
    static boolean isValue(CharSequence text) {
        for (int i = 0; i < text.length(); i++) {
            char c = text.charAt(i);
            if (c < ' ' && c != '\t' || c == 0x7F || c > 0xFF) {
                return false;
            }
        }
        return true;
    }

    /** Of a path or an authority: what cannot end a request line, or a field. */
    static boolean isVisible(CharSequence text) {
        for (int i = 0; i < text.length(); i++) {
            char c = text.charAt(i);
            if (c <= ' ' || c >= 0x7F) {
                return false;
            }
        }
        return text.length() > 0;
    }

    /** Three digits, 100 to 999. */
    static boolean isStatus(CharSequence text) {
        for (int i = 0; i < text.length(); i++) {
            if (text.charAt(i) < '0' || text.charAt(i) > '9') {
                return false;
            }
        }
        return text.length() == 3 && text.charAt(0) != '0';
    }

    static void verify(CharSequence name, CharSequence value) throws BadMessageException {
        if (!isToken(name) || !isValue(value)) {
            throw new BadMessageException("field '" + visible(name) + "' has characters that HTTP does not allow");
        }
    }

    private static String visible(CharSequence text) {
        return text.toString().replaceAll("[^\\x21-\\x7e]", "?");
    }

    /** Fields of one connection only, not of the message (RFC 9110 section 7.6.1); {@code te} and what {@code connection} names apart. */
    static boolean isHopByHop(CharSequence name) {
        return switch (name.length()) {
            case 7 -> AsciiString.contentEquals(name, HttpHeaderNames.UPGRADE);
            case 10 ->
                AsciiString.contentEquals(name, HttpHeaderNames.CONNECTION)
                        || AsciiString.contentEquals(name, KEEP_ALIVE);
            case 16 -> AsciiString.contentEquals(name, PROXY_CONNECTION);
            case 17 -> AsciiString.contentEquals(name, HttpHeaderNames.TRANSFER_ENCODING);
            default -> false;
        };
    }

    /** Trailer fields that may be passed on: no pseudo-header fields, and none that frame or route a message (RFC 9110 section 6.5.1). */
    static Http2Headers trailers(Iterable<? extends Map.Entry<? extends CharSequence, ? extends CharSequence>> from)
            throws BadMessageException {
        FlatHeaders to = new FlatHeaders();
        for (Map.Entry<? extends CharSequence, ? extends CharSequence> field : from) {
            AsciiString name = AsciiString.of(field.getKey()).toLowerCase();
            verify(name, field.getValue());
            if (!isHopByHop(name)
                    && !name.contentEquals(HttpHeaderNames.CONTENT_LENGTH)
                    && !name.contentEquals(HttpHeaderNames.HOST)
                    && !name.contentEquals(HttpHeaderNames.TRAILER)) {
                to.add(name, AsciiString.of(field.getValue()));
            }
        }
        return to;
    }
}
