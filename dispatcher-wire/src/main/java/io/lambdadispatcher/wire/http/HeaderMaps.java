package io.lambdadispatcher.wire.http;

import io.netty.handler.codec.http2.Http2Headers;
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
    public static Map<String, List<String>> of(Http2Headers headers) {
        Map<String, List<String>> map = new LinkedHashMap<>();
        for (CharSequence name : headers.names()) {
            if (name.charAt(0) != ':') {
                map.put(
                        name.toString(),
                        headers.getAll(name).stream().map(HeaderText::decode).toList());
            }
        }
        return Collections.unmodifiableMap(map);
    }
}
