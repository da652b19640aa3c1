package io.lambdadispatcher.wire.http;

import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpMethod;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.util.AsciiString;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Conditions and ranges of requests whose responses an intermediary may encode. The encoded
 * response is another representation than the application's, so a validator of one must never
 * stand for the bytes of the other (RFC 9110 sections 8.8, 13 and 14.2). Each character of a value
 * is one byte, and bytes above ASCII are kept (section 8.8.3). Any thread.
 *
 * <ul>
 *   <li>The entity tag of an encoded response is weak and names the encoding: {@code "a"} becomes
 *       {@code W/"a;gzip"}, and {@code W/"a"} becomes {@code W/"a;w-gzip"}. Weak, because the same
 *       content can be encoded to other bytes the next time.
 *   <li>In requests, such a tag becomes the application's again, unless it would confirm a copy
 *       that the client does not accept now.
 *   <li>A range is not passed on if the bytes that the client has may be encoded ones.
 * </ul>
 */
public final class EncodedRepresentation {
    private static final AsciiString GET = HttpMethod.GET.asciiName();
    private static final AsciiString MULTIPART_RANGES = AsciiString.cached("multipart/byteranges");
    private static final String WEAK = "W/";
    private static final String OF_STRONG = ";";
    private static final String OF_WEAK = ";w-";

    /** One list for each encoding, as {@link AcceptEncoding#choose} takes them. */
    private static final List<List<AsciiString>> ENCODINGS = List.of(
            List.of(AsciiString.cached("gzip")),
            List.of(AsciiString.cached("br")),
            List.of(AsciiString.cached("zstd")));

    private EncodedRepresentation() {}

    /** Replaces the entity tag of a response that is encoded. */
    public static void tag(Http2Headers response, AsciiString encoding) {
        CharSequence tag = response.get(HttpHeaderNames.ETAG);
        if (tag == null) {
            return;
        }
        String own = tag.toString();
        boolean weak = isWeak(own);
        int end = own.length() - 1;
        if (end > 0 && own.charAt(end) == '"') {
            String opaque = (weak ? own : WEAK + own).substring(0, end + (weak ? 0 : WEAK.length()));
            set(response, HttpHeaderNames.ETAG, opaque + (weak ? OF_WEAK : OF_STRONG) + encoding + '"');
        } else if (!weak) {
            set(response, HttpHeaderNames.ETAG, WEAK + own); // Malformed, so no condition will match it.
        }
    }

    /**
     * Makes the conditions of a request those of the application's representation. Changes headers
     * only if they name another one.
     *
     * @return {@code if-none-match} as the client has sent it, for {@link #describeNotModified};
     *     {@code null} = it has sent none
     */
    public static @Nullable String restoreConditions(Http2Headers request) {
        boolean safe = GET.contentEquals(request.method()) || Methods.isHead(request.method());
        if (safe && request.contains(HttpHeaderNames.RANGE) && mayContinueEncoded(request)) {
            request.remove(HttpHeaderNames.RANGE);
            request.remove(HttpHeaderNames.IF_RANGE);
        }
        String match = list(request, HttpHeaderNames.IF_MATCH);
        if (match != null) {
            setTags(request, HttpHeaderNames.IF_MATCH, match, restored(match, null));
        }
        String noneMatch = list(request, HttpHeaderNames.IF_NONE_MATCH);
        if (noneMatch != null) {
            setTags(request, HttpHeaderNames.IF_NONE_MATCH, noneMatch, restored(noneMatch, safe ? request : null));
        }
        return noneMatch;
    }

    /**
     * Returns whether a request for a range may continue an encoded response. Its bytes have no
     * strong tag. Dates do not tell representations apart. Without a condition, the client does not
     * continue anything.
     */
    private static boolean mayContinueEncoded(Http2Headers request) {
        List<CharSequence> conditions = request.getAll(HttpHeaderNames.IF_RANGE);
        if (!conditions.isEmpty()) {
            return conditions.size() > 1 || !conditions.get(0).toString().startsWith("\"");
        }
        String match = list(request, HttpHeaderNames.IF_MATCH);
        return request.contains(HttpHeaderNames.IF_UNMODIFIED_SINCE)
                || match != null && elements(match).stream().anyMatch(EncodedRepresentation::isWeak);
    }

    private static @Nullable String list(Http2Headers head, AsciiString name) {
        return head.contains(name) ? String.join(", ", head.getAll(name)) : null;
    }

    private static void set(Http2Headers head, AsciiString name, String bytes) {
        head.set(name, HeaderText.ofBytes(bytes));
    }

    private static void setTags(Http2Headers request, AsciiString name, String before, List<String> tags) {
        if (tags.equals(elements(before))) {
            return;
        }
        if (tags.isEmpty()) {
            // The date would confirm the copies that the tags do not (RFC 9110 section 13.1.3).
            request.remove(name);
            request.remove(HttpHeaderNames.IF_MODIFIED_SINCE);
        } else {
            set(request, name, String.join(", ", tags));
        }
    }

    /** @param by client that must accept the encodings; {@code null} = they do not matter */
    private static List<String> restored(String list, @Nullable Http2Headers by) {
        List<String> tags = new ArrayList<>();
        for (String tag : elements(list)) {
            String original = original(tag, by);
            if (original != null) {
                tags.add(original);
            }
        }
        return tags;
    }

    /** Returns the application's tag; {@code null} = the client does not accept the encoding. */
    private static @Nullable String original(String tag, @Nullable Http2Headers by) {
        for (int i = 0; isWeak(tag) && i < ENCODINGS.size(); i++) {
            List<AsciiString> encoding = ENCODINGS.get(i);
            String ofStrong = OF_STRONG + encoding.get(0) + '"';
            String ofWeak = OF_WEAK + encoding.get(0) + '"';
            if (tag.endsWith(ofStrong) || tag.endsWith(ofWeak)) {
                boolean accepted = by == null || AcceptEncoding.choose(by, encoding) != AcceptEncoding.IDENTITY;
                return !accepted
                        ? null
                        : tag.endsWith(ofWeak)
                                ? tag.substring(0, tag.length() - ofWeak.length()) + '"'
                                : tag.substring(WEAK.length(), tag.length() - ofStrong.length()) + '"';
            }
        }
        return tag;
    }

    /**
     * Gives a 304 the tag of the copy that it confirms (RFC 9110 section 15.4.5). If the request
     * does not say which one that is, the tag becomes weak and fits all of them.
     *
     * @param sent what {@link #restoreConditions} returned
     */
    public static void describeNotModified(Http2Headers response, Http2Headers request, @Nullable String sent) {
        ContentCoding.addVary(response);
        CharSequence tag = response.get(HttpHeaderNames.ETAG);
        if (tag == null) {
            return;
        }
        String own = tag.toString();
        boolean plain = isWeak(own);
        for (String copy : sent == null ? List.<String>of() : elements(sent)) {
            if (copy.equals(own)) {
                plain = true;
            } else if (own.equals(original(copy, request))) {
                set(response, HttpHeaderNames.ETAG, copy);
                return;
            }
        }
        if (!plain) {
            set(response, HttpHeaderNames.ETAG, WEAK + own);
        }
    }

    /**
     * Describes a part of a response that would be encoded as a whole. A part without a tag loses
     * its date, because a client may take the date for a sign that the part belongs to an encoded
     * response (RFC 9110 section 15.3.7.3).
     */
    public static void describePart(Http2Headers response) {
        ContentCoding.addVary(response);
        if (!response.contains(HttpHeaderNames.ETAG)) {
            response.remove(HttpHeaderNames.LAST_MODIFIED);
        }
    }

    /** Returns whether a response has several ranges, each with the type of the whole. */
    public static boolean hasSeveralRanges(Http2Headers response) {
        CharSequence type = response.get(HttpHeaderNames.CONTENT_TYPE);
        return type != null && AsciiString.regionMatches(type, true, 0, MULTIPART_RANGES, 0, MULTIPART_RANGES.length());
    }

    private static boolean isWeak(String tag) {
        return tag.startsWith(WEAK);
    }

    /** Splits at the commas outside of quotes. */
    private static List<String> elements(String list) {
        List<String> elements = new ArrayList<>();
        boolean quoted = false;
        int from = 0;
        for (int i = 0; i <= list.length(); i++) {
            if (i == list.length() || list.charAt(i) == ',' && !quoted) {
                String element = HeaderSyntax.withoutOuterBlanks(list.substring(from, i));
                if (!element.isEmpty()) {
                    elements.add(element);
                }
                from = i + 1;
            } else if (list.charAt(i) == '"') {
                quoted = !quoted;
            }
        }
        return elements;
    }
}
