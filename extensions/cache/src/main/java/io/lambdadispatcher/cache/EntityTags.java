package io.lambdadispatcher.cache;

import io.lambdadispatcher.core.spi.HeaderFields;
import io.lambdadispatcher.wire.http.HeaderSyntax;
import io.netty.handler.codec.DateFormatter;
import java.util.Date;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Evaluates the conditions of a GET or HEAD request (RFC 9110 section 13). Any thread. */
final class EntityTags {
    private EntityTags() {}

    /** Returns whether the client has the response, so that 304 answers it. */
    static boolean isNotModified(HeaderFields request, HeaderFields response) {
        List<String> tags = request.bytes().getAll("if-none-match");
        if (!tags.isEmpty()) {
            String own = response.bytes().get("etag");
            return tags.stream().anyMatch(list -> contains(list, own == null ? null : strong(own)));
        }
        Date since = date(request.get("if-modified-since"));
        Date modified = date(response.get("last-modified"));
        return since != null && modified != null && !modified.after(since);
    }

    private static @Nullable Date date(@Nullable String text) {
        return text == null ? null : DateFormatter.parseHttpDate(text);
    }

    /** The weak comparison of RFC 9110 section 8.8.3.2. A tag with a comma never matches. */
    private static boolean contains(String list, @Nullable String tag) {
        for (String each : list.split(",")) {
            String known = HeaderSyntax.withoutOuterBlanks(each);
            if (known.equals("*") || strong(known).equals(tag)) {
                return true;
            }
        }
        return false;
    }

    private static String strong(String tag) {
        return tag.startsWith("W/") ? tag.substring(2) : tag;
    }
}
