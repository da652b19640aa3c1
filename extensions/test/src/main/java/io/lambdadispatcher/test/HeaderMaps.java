package io.lambdadispatcher.test;

import io.netty.handler.codec.http2.Http2Headers;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

final class HeaderMaps {
    private HeaderMaps() {}

    /** Without pseudo-headers. */
    static Map<String, List<String>> of(Http2Headers headers) {
        Map<String, List<String>> map = new LinkedHashMap<>();
        for (CharSequence name : headers.names()) {
            if (name.charAt(0) != ':') {
                map.put(
                        name.toString(),
                        headers.getAll(name).stream()
                                .map(CharSequence::toString)
                                .toList());
            }
        }
        return Collections.unmodifiableMap(map);
    }
}
