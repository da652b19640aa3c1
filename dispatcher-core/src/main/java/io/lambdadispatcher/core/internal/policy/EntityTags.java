package io.lambdadispatcher.core.internal.policy;

import io.lambdadispatcher.wire.http.HeaderSyntax;
import io.netty.handler.codec.DateFormatter;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http2.Http2Headers;
import java.util.Date;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Evaluates the conditions of a GET or HEAD request (RFC 9110 section 13). Any thread. */
public final class EntityTags {
    private EntityTags() {}

    /** Returns whether the client has the response, so that 304 answers it. */
    public static boolean isNotModified(Http2Headers request, Http2Headers response) {
        List<CharSequence> tags = request.getAll(HttpHeaderNames.IF_NONE_MATCH);
        if (!tags.isEmpty()) {
            CharSequence own = response.get(HttpHeaderNames.ETAG);
            return own != null && tags.stream().anyMatch(list -> contains(list.toString(), strong(own.toString())));
        }
        Date since = date(request.get(HttpHeaderNames.IF_MODIFIED_SINCE));
        Date modified = date(response.get(HttpHeaderNames.LAST_MODIFIED));
        return since != null && modified != null && !modified.after(since);
    }

    private static @Nullable Date date(@Nullable CharSequence text) {
        return text == null ? null : DateFormatter.parseHttpDate(text);
    }

    /** The weak comparison of RFC 9110 section 8.8.3.2. A tag with a comma never matches. */
    private static boolean contains(String list, String tag) {
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
