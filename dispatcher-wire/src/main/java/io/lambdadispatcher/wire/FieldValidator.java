package io.lambdadispatcher.wire;

import io.netty.handler.codec.http2.DefaultHttp2Headers;
import org.jspecify.annotations.Nullable;

/**
 * Refuses field names and values that HTTP/2 forbids (RFC 9113 section 8.2.1). What HPACK finds in its tables are the very objects of the head
 * before, and a peer's heads are much alike: a field that is identical to the one which stood in the same place need not be read again. One for
 * each HPACK decoder; confined to its event loop.
 */
final class FieldValidator {
    private static final int REMEMBERED_SLOTS = 64;

    private final @Nullable CharSequence[] valid = new CharSequence[REMEMBERED_SLOTS];

    /**
     * @param slot where in the head the name goes; even
     * @throws IllegalArgumentException or, undeclared, {@code Http2Exception} for a field that may not be
     */
    void verify(int slot, CharSequence name, CharSequence value) {
        int place = slot & REMEMBERED_SLOTS - 1;
        if (valid[place] == name && valid[place + 1] == value) {
            return;
        }
        if (valid[place] != name) {
            DefaultHttp2Headers.defaultHtt2NameValidator().validateName(name);
        }
        DefaultHttp2Headers.defaultHttp2ValueValidator().validate(value);
        if (value.length() == 0 && name.charAt(0) == ':') {
            throw new IllegalArgumentException("pseudo-header field " + name + " without a value");
        }
        valid[place] = name;
        valid[place + 1] = value;
    }
}
