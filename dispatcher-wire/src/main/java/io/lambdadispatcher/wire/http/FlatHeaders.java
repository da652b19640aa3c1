package io.lambdadispatcher.wire.http;

import io.netty.handler.codec.Headers;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.util.AsciiString;
import java.util.AbstractMap.SimpleImmutableEntry;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Iterator;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.Objects;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Headers in one array: name, value, name, value. A request has about ten headers, which are read a
 * few times and then written, so neither a hash table nor an object for each header pays.
 * Otherwise, it behaves like {@code DefaultHttp2Headers}: names are in lower case, pseudo-headers
 * come first, and the order of the other headers is kept. Not thread-safe.
 */
public final class FlatHeaders extends TypedFields {
    /**
     * Maximum size of the headers that the worker protocol carries, in bytes, counted like
     * SETTINGS_MAX_HEADER_LIST_SIZE (RFC 9113 section 6.5.2): names, values and {@link
     * #HEADER_OVERHEAD_BYTES} for each header.
     */
    public static final int MAX_LIST_BYTES = 256 * 1024;

    public static final int HEADER_OVERHEAD_BYTES = 32;

    private static final int NONE = -1;

    private @Nullable FieldValidator validator;
    private @Nullable CharSequence[] slots;
    private int end;

    /** Creates headers that are not checked, for headers that the program itself makes. */
    public FlatHeaders() {
        this(8);
    }

    /** Creates headers that are not checked, because the program makes or has checked them. */
    public FlatHeaders(int expectedFields) {
        this(expectedFields, null);
    }

    /** @param validator checks what is added, for headers from outside */
    FlatHeaders(int expectedFields, @Nullable FieldValidator validator) {
        this.slots = new CharSequence[2 * expectedFields];
        this.validator = validator;
    }

    /** Creates a copy of decoded headers, with room for more. */
    FlatHeaders(FlatHeaders decoded, int spareFields) {
        this.slots = Arrays.copyOf(decoded.slots, decoded.end + 2 * spareFields);
        this.end = decoded.end;
        this.validator = decoded.validator;
    }

    /** Returns a copy without pseudo-headers, with room for {@code spare} more headers. */
    public static FlatHeaders fieldsOf(Http2Headers head, int spare) {
        FlatHeaders copy = new FlatHeaders(head.size() + spare, null);
        if (head instanceof FlatHeaders flat) {
            int first = flat.fieldsBegin();
            System.arraycopy(flat.slots, first, copy.slots, 0, flat.end - first);
            copy.end = flat.end - first;
        } else {
            head.forEach(field -> {
                if (!isPseudo(field.getKey())) {
                    copy.put(field.getKey(), field.getValue(), false);
                }
            });
        }
        return copy;
    }

    private int fieldsBegin() {
        int slot = 0;
        while (slot < end && isPseudo(at(slot))) {
            slot += 2;
        }
        return slot;
    }

    /** Returns for how many headers there is room without a larger array. */
    int room() {
        return slots.length / 2;
    }

    /** Takes over the contents of decoded headers. This object must be empty. */
    FlatHeaders become(FlatHeaders decoded) {
        if (slots.length < decoded.end) {
            slots = Arrays.copyOf(decoded.slots, decoded.slots.length);
        } else {
            System.arraycopy(decoded.slots, 0, slots, 0, decoded.end);
        }
        end = decoded.end;
        validator = decoded.validator;
        return this;
    }

    /** Starts again with a validator. This object must be empty. */
    FlatHeaders restart(FieldValidator next) {
        validator = next;
        return this;
    }

    private CharSequence at(int slot) {
        return Objects.requireNonNull(slots[slot]);
    }

    /** @return the first slot of a name at or after {@code from}; -1 if there is none */
    private int find(CharSequence name, int from) {
        if (name instanceof AsciiString ascii) {
            return find(ascii, from);
        }
        for (int slot = from; slot < end; slot += 2) {
            if (AsciiString.contentEquals(slots[slot], name)) {
                return slot;
            }
        }
        return NONE;
    }

    /**
     * Nearly all names are of this class. Most differ in length, which is compared without a call
     * through an interface.
     */
    private int find(AsciiString name, int from) {
        int length = name.length();
        for (int slot = from; slot < end; slot += 2) {
            CharSequence known = slots[slot];
            if (known == name
                    || (known instanceof AsciiString ascii
                            ? ascii.length() == length && ascii.equals(name)
                            : AsciiString.contentEquals(known, name))) {
                return slot;
            }
        }
        return NONE;
    }

    private static boolean isPseudo(CharSequence name) {
        return name.length() > 0 && name.charAt(0) == ':';
    }

    @Override
    public Http2Headers add(CharSequence name, CharSequence value) {
        Objects.requireNonNull(name, "name");
        Objects.requireNonNull(value, "value");
        boolean pseudo = isPseudo(name);
        if (validator != null) {
            validator.verify(end, name, value);
            if (pseudo && find(name, 0) != NONE) {
                throw new IllegalArgumentException("pseudo-header field " + name + " twice");
            }
        }
        put(name, value, pseudo);
        return this;
    }

    /** Adds a valid header that is no pseudo-header, without checking it. */
    public void addValid(CharSequence name, CharSequence value) {
        put(name, value, false);
    }

    private void put(CharSequence name, CharSequence value, boolean pseudo) {
        if (end == slots.length) {
            slots = Arrays.copyOf(slots, Math.max(8, end * 2));
        }
        int slot = pseudo ? openFront() : end;
        slots[slot] = name;
        slots[slot + 1] = value;
        end += 2;
    }

    /**
     * The headers were decoded and may leave the decoder's event loop. Headers that are added later
     * are still checked.
     */
    void onDecoded() {
        validator = FieldValidator.WITHOUT_MEMORY;
    }

    /** Makes room behind the last pseudo-header. */
    private int openFront() {
        int slot = fieldsBegin();
        System.arraycopy(slots, slot, slots, slot + 2, end - slot);
        return slot;
    }

    private void removeAt(int slot) {
        System.arraycopy(slots, slot + 2, slots, slot, end - slot - 2);
        end -= 2;
        slots[end] = null;
        slots[end + 1] = null;
    }

    @Override
    public @Nullable CharSequence get(CharSequence name) {
        int slot = find(name, 0);
        return slot == NONE ? null : slots[slot + 1];
    }

    @Override
    public CharSequence get(CharSequence name, CharSequence otherwise) {
        CharSequence value = get(name);
        return value == null ? otherwise : value;
    }

    @Override
    public @Nullable CharSequence getAndRemove(CharSequence name) {
        CharSequence value = get(name);
        if (value != null) {
            remove(name);
        }
        return value;
    }

    @Override
    public CharSequence getAndRemove(CharSequence name, CharSequence otherwise) {
        CharSequence value = getAndRemove(name);
        return value == null ? otherwise : value;
    }

    @Override
    public List<CharSequence> getAll(CharSequence name) {
        int slot = find(name, 0);
        if (slot == NONE) {
            return Collections.emptyList();
        }
        List<CharSequence> values = new ArrayList<>(2);
        for (; slot != NONE; slot = find(name, slot + 2)) {
            values.add(at(slot + 1));
        }
        return values;
    }

    @Override
    public List<CharSequence> getAllAndRemove(CharSequence name) {
        List<CharSequence> values = getAll(name);
        remove(name);
        return values;
    }

    @Override
    public boolean contains(CharSequence name) {
        return find(name, 0) != NONE;
    }

    /** Returns whether there is more than one header of that name. */
    public boolean isRepeated(CharSequence name) {
        int slot = find(name, 0);
        return slot != NONE && find(name, slot + 2) != NONE;
    }

    @Override
    public boolean contains(CharSequence name, CharSequence value) {
        return contains(name, value, false);
    }

    @Override
    public boolean contains(CharSequence name, CharSequence value, boolean caseInsensitive) {
        for (int slot = find(name, 0); slot != NONE; slot = find(name, slot + 2)) {
            CharSequence known = at(slot + 1);
            if (caseInsensitive
                    ? AsciiString.contentEqualsIgnoreCase(known, value)
                    : AsciiString.contentEquals(known, value)) {
                return true;
            }
        }
        return false;
    }

    @Override
    public int size() {
        return end / 2;
    }

    @Override
    public boolean isEmpty() {
        return end == 0;
    }

    @Override
    public Set<CharSequence> names() {
        Set<CharSequence> names = new LinkedHashSet<>();
        for (int slot = 0; slot < end; slot += 2) {
            if (find(at(slot), 0) == slot) {
                names.add(at(slot));
            }
        }
        return Collections.unmodifiableSet(names);
    }

    @Override
    public Http2Headers add(CharSequence name, Iterable<? extends CharSequence> values) {
        for (CharSequence value : values) {
            add(name, value);
        }
        return this;
    }

    @Override
    public Http2Headers add(CharSequence name, CharSequence... values) {
        return add(name, Arrays.asList(values));
    }

    @Override
    public Http2Headers add(Headers<? extends CharSequence, ? extends CharSequence, ?> headers) {
        if (headers == this) {
            throw new IllegalArgumentException("can't add a head to itself");
        }
        for (Map.Entry<? extends CharSequence, ? extends CharSequence> field : headers) {
            add(field.getKey(), field.getValue());
        }
        return this;
    }

    @Override
    public Http2Headers set(CharSequence name, CharSequence value) {
        remove(name);
        return add(name, value);
    }

    @Override
    public Http2Headers set(CharSequence name, Iterable<? extends CharSequence> values) {
        remove(name);
        return add(name, values);
    }

    @Override
    public Http2Headers set(CharSequence name, CharSequence... values) {
        return set(name, Arrays.asList(values));
    }

    @Override
    public Http2Headers set(Headers<? extends CharSequence, ? extends CharSequence, ?> headers) {
        if (headers != this) {
            clear();
            add(headers);
        }
        return this;
    }

    @Override
    public Http2Headers setAll(Headers<? extends CharSequence, ? extends CharSequence, ?> headers) {
        if (headers != this) {
            for (CharSequence name : headers.names()) {
                remove(name);
            }
            add(headers);
        }
        return this;
    }

    @Override
    public boolean remove(CharSequence name) {
        int before = end;
        for (int slot = find(name, 0); slot != NONE; slot = find(name, slot)) {
            removeAt(slot);
        }
        return end != before;
    }

    @Override
    public Http2Headers clear() {
        Arrays.fill(slots, 0, end, null);
        end = 0;
        return this;
    }

    @Override
    public Iterator<Map.Entry<CharSequence, CharSequence>> iterator() {
        return new Fields();
    }

    private final class Fields implements Iterator<Map.Entry<CharSequence, CharSequence>> {
        private int next;
        private boolean stands;

        @Override
        public boolean hasNext() {
            return next < end;
        }

        @Override
        public Map.Entry<CharSequence, CharSequence> next() {
            if (next >= end) {
                throw new NoSuchElementException("expected at most " + size() + " headers");
            }
            next += 2;
            stands = true;
            return new SimpleImmutableEntry<>(at(next - 2), at(next - 1));
        }

        @Override
        public void remove() {
            if (!stands) {
                throw new IllegalStateException("remove() without a next() before it");
            }
            stands = false;
            next -= 2;
            removeAt(next);
        }
    }

    @Override
    public Iterator<CharSequence> valueIterator(CharSequence name) {
        return getAll(name).iterator();
    }

    @Override
    public Http2Headers method(CharSequence value) {
        return set(PseudoHeaderName.METHOD.value(), value);
    }

    @Override
    public Http2Headers scheme(CharSequence value) {
        return set(PseudoHeaderName.SCHEME.value(), value);
    }

    @Override
    public Http2Headers authority(CharSequence value) {
        return set(PseudoHeaderName.AUTHORITY.value(), value);
    }

    @Override
    public Http2Headers path(CharSequence value) {
        return set(PseudoHeaderName.PATH.value(), value);
    }

    @Override
    public Http2Headers status(CharSequence value) {
        return set(PseudoHeaderName.STATUS.value(), value);
    }

    @Override
    public @Nullable CharSequence method() {
        return get(PseudoHeaderName.METHOD.value());
    }

    @Override
    public @Nullable CharSequence scheme() {
        return get(PseudoHeaderName.SCHEME.value());
    }

    @Override
    public @Nullable CharSequence authority() {
        return get(PseudoHeaderName.AUTHORITY.value());
    }

    @Override
    public @Nullable CharSequence path() {
        return get(PseudoHeaderName.PATH.value());
    }

    @Override
    public @Nullable CharSequence status() {
        return get(PseudoHeaderName.STATUS.value());
    }

    /**
     * Returns whether the other headers, of any class, have the same values in the same order under
     * each name.
     */
    @Override
    public boolean equals(@Nullable Object other) {
        if (!(other instanceof Http2Headers headers) || headers.size() != size()) {
            return false;
        }
        for (CharSequence name : names()) {
            if (!equal(getAll(name), headers.getAll(name))) {
                return false;
            }
        }
        return true;
    }

    private static boolean equal(List<CharSequence> some, List<CharSequence> others) {
        if (some.size() != others.size()) {
            return false;
        }
        for (int i = 0; i < some.size(); i++) {
            if (!AsciiString.contentEquals(some.get(i), others.get(i))) {
                return false;
            }
        }
        return true;
    }

    /** The sum over all headers, because equal headers can be in different orders. */
    @Override
    public int hashCode() {
        int sum = 0;
        for (int slot = 0; slot < end; slot += 2) {
            sum += 31 * AsciiString.hashCode(at(slot)) + AsciiString.hashCode(at(slot + 1));
        }
        return sum;
    }

    @Override
    public String toString() {
        StringBuilder text = new StringBuilder("FlatHeaders[");
        for (int slot = 0; slot < end; slot += 2) {
            text.append(slot == 0 ? "" : ", ").append(slots[slot]).append(": ").append(slots[slot + 1]);
        }
        return text.append(']').toString();
    }
}
