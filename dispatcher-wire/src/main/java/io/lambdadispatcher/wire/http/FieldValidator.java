package io.lambdadispatcher.wire.http;

import io.netty.handler.codec.http2.DefaultHttp2Headers;
import org.jspecify.annotations.Nullable;

/**
 * Rejects header names and values that HTTP/2 forbids (RFC 9113 section 8.2.1). HPACK's tables
 * return the same objects again, and the headers of one peer are similar. Therefore, a header that
 * is identical to the previous one in the same place is not checked again. Large headers are not
 * remembered, because they would stay in memory as long as the connection. There is one object for
 * each HPACK decoder. Confined to its event loop.
 */
final class FieldValidator {
    /** A validator that remembers nothing, for shared use. */
    static final FieldValidator WITHOUT_MEMORY = new FieldValidator(0);

    private static final int REMEMBERED_SLOTS = 64;

    /**
     * Maximum length of a remembered name and value, which limits the memory of an idle connection.
     * HPACK's tables contain few larger headers (RFC 7541 section 4).
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
     * @param slot index of the name in the headers; even
     * @throws IllegalArgumentException or, undeclared, {@code Http2Exception} for a header that is
     *     not allowed
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
        int length = value.length();
        if (length == 0 && name.charAt(0) == ':') {
            throw new IllegalArgumentException("pseudo-header field " + name + " without a value");
        }
        // Netty looks only at the start of the value.
        if (length > 0 && HeaderSyntax.isBlank(value.charAt(length - 1))) {
            throw new IllegalArgumentException("the value of " + name + " ends with a space or tab");
        }
    }
}
