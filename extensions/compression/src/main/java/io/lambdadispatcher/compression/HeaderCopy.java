package io.lambdadispatcher.compression;

import io.lambdadispatcher.core.spi.HeaderFields;
import io.lambdadispatcher.wire.http.FlatHeaders;
import java.util.List;

/**
 * Lets the rules of HTTP for encoded content change the headers that a filter sees. Entity tags are
 * bytes, not text, so each character of a value is one byte.
 */
final class HeaderCopy {
    /** What the rules may change in a request. */
    private static final List<String> CONDITIONS =
            List.of("range", "if-range", "if-match", "if-none-match", "if-modified-since");

    /** What they may change in a response. */
    private static final List<String> DESCRIPTION =
            List.of("vary", "content-encoding", "content-length", "accept-ranges", "etag", "last-modified");

    /** What else they read of a request. */
    private static final List<String> READ_OF_REQUEST =
            List.of("accept-encoding", "cache-control", "if-unmodified-since");

    /** What else they read of a response. */
    private static final List<String> READ_OF_RESPONSE = List.of(
            "content-type",
            "content-range",
            "content-digest",
            "repr-digest",
            "digest",
            "content-md5",
            "trailer",
            "cache-control");

    private HeaderCopy() {}

    static FlatHeaders ofRequest(HeaderFields fields) {
        return copy(fields, CONDITIONS, READ_OF_REQUEST);
    }

    static FlatHeaders ofResponse(HeaderFields fields) {
        return copy(fields, DESCRIPTION, READ_OF_RESPONSE);
    }

    private static FlatHeaders copy(HeaderFields fields, List<String> changed, List<String> read) {
        FlatHeaders copy = new FlatHeaders();
        HeaderFields bytes = fields.bytes();
        changed.forEach(name -> add(name, bytes, copy));
        read.forEach(name -> add(name, bytes, copy));
        return copy;
    }

    private static void add(String name, HeaderFields fields, FlatHeaders to) {
        if (fields.get(name) != null) {
            fields.getAll(name).forEach(value -> to.add(name, value));
        }
    }

    static void writeRequest(FlatHeaders changed, HeaderFields to) {
        write(changed, to, CONDITIONS);
    }

    static void writeResponse(FlatHeaders changed, HeaderFields to) {
        write(changed, to, DESCRIPTION);
    }

    private static void write(FlatHeaders changed, HeaderFields fields, List<String> names) {
        HeaderFields to = fields.bytes();
        for (String name : names) {
            if (!changed.contains(name) && to.get(name) == null) {
                continue;
            }
            List<String> values =
                    changed.getAll(name).stream().map(CharSequence::toString).toList();
            if (!values.equals(to.getAll(name))) {
                to.remove(name);
                values.forEach(value -> to.add(name, value));
            }
        }
    }
}
