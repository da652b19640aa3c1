package io.lambdadispatcher.wire.http;

import io.netty.handler.codec.http2.DefaultHttp2Headers;
import org.jspecify.annotations.Nullable;

/**
 * Refuses field names and values that HTTP/2 forbids (RFC 9113 section 8.2.1). What HPACK finds in
 * its tables are the very objects of the head before, and a peer's heads are much alike: a field
 * that is identical to the one which stood in the same place need not be read again. Large ones are
 * not remembered, for that would keep them as long as the connection. One for each HPACK decoder;
 * confined to its event loop.
 */
final class FieldValidator {
    /** Belongs to nobody. */
    static final FieldValidator WITHOUT_MEMORY = new FieldValidator(0);

    private static final int REMEMBERED_SLOTS = 64;

    /**
     * Name and value: times fields, what an idle connection can hold here. HPACK's tables hold
     * little that is larger (RFC 7541 section 4).
     */
    private static final int MOST_REMEMBERED_CHARS = 512;

    private final @Nullable CharSequence[] valid;

    FieldValidator() {
        this(REMEMBERED_SLOTS);
    }

    private FieldValidator(int slots) {
        valid = new CharSequence[slots];
    }

    /**
     * @param slot where in the head the name goes; even
     * @throws IllegalArgumentException or, undeclared, {@code Http2Exception} for a field that may
     *     not be
     */
    void verify(int slot, CharSequence name, CharSequence value) {
        if (valid.length == 0) {
            verify(name, value);
            return;
        }
        int place = slot & REMEMBERED_SLOTS - 1;
        if (valid[place] == name && valid[place + 1] == value) {
            return;
        }
        verify(name, value);
        if (name.length() + value.length() <= MOST_REMEMBERED_CHARS) {
            valid[place] = name;
            valid[place + 1] = value;
        }
    }

    private static void verify(CharSequence name, CharSequence value) {
        DefaultHttp2Headers.defaultHtt2NameValidator().validateName(name);
        DefaultHttp2Headers.defaultHttp2ValueValidator().validate(value);
        if (value.length() == 0 && name.charAt(0) == ':') {
            throw new IllegalArgumentException("pseudo-header field " + name + " without a value");
        }
    }
}
