package io.lambdadispatcher.compression;

import io.lambdadispatcher.core.spi.HeaderFields;
import io.lambdadispatcher.wire.http.FlatHeaders;
import java.util.List;

/** Lets the rules of HTTP for encoded content change the headers that a filter sees. */
final class HeaderCopy {
    /** What the rules may change in a request. */
    private static final List<String> CONDITIONS =
            List.of("range", "if-range", "if-match", "if-none-match", "if-modified-since");

    /** What they may change in a response. */
    private static final List<String> DESCRIPTION =
            List.of("vary", "content-encoding", "content-length", "accept-ranges", "etag", "last-modified");

    private HeaderCopy() {}

    static FlatHeaders of(HeaderFields fields) {
        FlatHeaders copy = new FlatHeaders();
        fields.forEach(copy::add);
        return copy;
    }

    static void writeRequest(FlatHeaders changed, HeaderFields to) {
        write(changed, to, CONDITIONS);
    }

    static void writeResponse(FlatHeaders changed, HeaderFields to) {
        write(changed, to, DESCRIPTION);
    }

    private static void write(FlatHeaders changed, HeaderFields to, List<String> names) {
        for (String name : names) {
            List<String> values =
                    changed.getAll(name).stream().map(CharSequence::toString).toList();
            if (!values.equals(to.getAll(name))) {
                to.remove(name);
                values.forEach(value -> to.add(name, value));
            }
        }
    }
}
