package io.lambdadispatcher.wire.http;

import io.netty.handler.codec.http2.Http2Headers;
import io.netty.util.AsciiString;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Headers for users who must not see types of Netty. Any thread. */
public final class HeaderMaps {
    private HeaderMaps() {}

    /**
     * Returns all values by name, without pseudo-headers, in the order in which the names appear
     * first. Values are text, see {@link HeaderText#decode}. Not modifiable.
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
        return Collections.unmodifiableMap(map);
    }

    /**
     * Returns the headers of a program, with names in lower case and values as {@link
     * HeaderText#bytesOf} says.
     *
     * @throws IllegalArgumentException if HTTP does not allow a name or a value
     */
    public static Http2Headers parse(Map<String, List<String>> map) {
        FlatHeaders headers = new FlatHeaders();
        map.forEach((name, values) -> {
            OutgoingHeaders.verifyName(name);
            AsciiString lower = AsciiString.of(name).toLowerCase();
            values.forEach(value -> headers.add(lower, OutgoingHeaders.verifyValue(name, value)));
        });
        return headers;
    }
}
