package io.lambdadispatcher.wire.http;

import io.netty.handler.codec.http2.Http2Headers;
import io.netty.util.AsciiString;
import java.util.AbstractMap;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** Headers for users who must not see types of Netty. Any thread. */
public final class HeaderMaps {
    private HeaderMaps() {}

    /** Knows the bytes of its values. */
    private static final class Received extends AbstractMap<String, List<String>> {
        final Iterable<Map.Entry<CharSequence, CharSequence>> bytes;
        private final Map<String, List<String>> texts;

        Received(Iterable<Map.Entry<CharSequence, CharSequence>> bytes, Map<String, List<String>> texts) {
            this.bytes = bytes;
            this.texts = Collections.unmodifiableMap(texts);
        }

        @Override
        public Set<Entry<String, List<String>>> entrySet() {
            return texts.entrySet();
        }
    }

    /**
     * Returns all values by name, without pseudo-headers, in the order in which the names appear
     * first. Values are text, see {@link HeaderText#decode}. Not modifiable.
     *
     * @param headers must not be changed afterwards
     */
    public static Map<String, List<String>> of(Iterable<Map.Entry<CharSequence, CharSequence>> headers) {
        Map<String, List<String>> map = new LinkedHashMap<>();
        for (Map.Entry<CharSequence, CharSequence> header : headers) {
            if (header.getKey().charAt(0) != ':') {
                map.computeIfAbsent(header.getKey().toString(), name -> new ArrayList<>(1))
                        .add(HeaderText.decode(header.getValue()));
            }
        }
        map.replaceAll((name, values) -> List.copyOf(values));
        return new Received(headers, map);
    }

    /**
     * Returns the headers of a program, with names in lower case and values as {@link
     * HeaderText#bytesOf} says. What {@link #of} has returned becomes the same bytes again.
     *
     * @throws IllegalArgumentException if HTTP does not allow a name or a value
     */
    public static Http2Headers parse(Map<String, List<String>> map) {
        FlatHeaders headers = new FlatHeaders();
        if (map instanceof Received received) {
            for (Map.Entry<CharSequence, CharSequence> header : received.bytes) {
                if (header.getKey().charAt(0) != ':') {
                    add(headers, header.getKey(), header.getValue());
                }
            }
        } else {
            map.forEach((name, values) -> values.forEach(value -> add(headers, name, value)));
        }
        return headers;
    }

    private static void add(FlatHeaders to, CharSequence name, CharSequence value) {
        OutgoingHeaders.verifyName(name);
        to.add(AsciiString.of(name).toLowerCase(), OutgoingHeaders.verifyValue(name, value));
    }
}
