package io.lambdadispatcher.core.internal.filter;

import io.lambdadispatcher.core.spi.HeaderFields;
import io.lambdadispatcher.wire.http.FlatHeaders;
import io.lambdadispatcher.wire.http.HeaderText;
import io.lambdadispatcher.wire.http.OutgoingHeaders;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.util.AsciiString;
import java.util.List;
import java.util.Locale;
import java.util.function.BiConsumer;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Header fields as filters see them.
 *
 * @param read returns the headers
 * @param write returns the headers for a change
 * @param ofBytes whether each character of a value is one byte. Otherwise, values are text
 */
record NettyFields(Supplier<Http2Headers> read, Supplier<Http2Headers> write, boolean ofBytes) implements HeaderFields {
    /** Who copies headers adds about as many: of a stored response, three and the status. */
    private static final int SPARE_FIELDS = 4;

    NettyFields(Supplier<Http2Headers> read, Supplier<Http2Headers> write) {
        this(read, write, false);
    }

    private String shown(CharSequence value) {
        return ofBytes ? value.toString() : HeaderText.decode(value);
    }

    private CharSequence checked(String name, String value) {
        OutgoingHeaders.verifyName(name);
        return OutgoingHeaders.verifyValue(name, ofBytes ? HeaderText.ofBytes(value) : value);
    }

    @Override
    public @Nullable String get(String name) {
        CharSequence value = read.get().get(name);
        return value == null ? null : shown(value);
    }

    @Override
    public boolean contains(String name) {
        return read.get().contains(name);
    }

    @Override
    public List<String> getAll(String name) {
        List<CharSequence> values = read.get().getAll(name);
        return values.isEmpty() ? List.of() : values.stream().map(this::shown).toList();
    }

    @Override
    public void set(String name, String value) {
        write.get().set(nameOf(name), checked(name, value));
    }

    @Override
    public void add(String name, String value) {
        write.get().add(nameOf(name), checked(name, value));
    }

    @Override
    public void remove(String name) {
        OutgoingHeaders.verifyName(name);
        write.get().remove(nameOf(name));
    }

    private static AsciiString nameOf(String name) {
        return AsciiString.of(name.toLowerCase(Locale.ROOT));
    }

    @Override
    public void forEach(BiConsumer<String, String> action) {
        read.get().forEach(field -> {
            if (field.getKey().charAt(0) != ':') {
                action.accept(field.getKey().toString(), shown(field.getValue()));
            }
        });
    }

    @Override
    public HeaderFields bytes() {
        return new NettyFields(read, write, true);
    }

    @Override
    public void forEachName(Consumer<String> action) {
        read.get().forEach(field -> {
            if (field.getKey().charAt(0) != ':') {
                action.accept(field.getKey().toString());
            }
        });
    }

    @Override
    public HeaderFields copy() {
        FlatHeaders copy = FlatHeaders.fieldsOf(read.get(), SPARE_FIELDS);
        return new NettyFields(() -> copy, () -> copy, ofBytes);
    }
}
