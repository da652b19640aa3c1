package io.lambdadispatcher.core.spi;

import java.util.List;
import java.util.function.BiConsumer;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The header fields of a request or a response, without pseudo-headers. Names are in lower case.
 * Values are text: UTF-8, or ISO 8859-1 where the bytes are no UTF-8. Text is written as UTF-8. To
 * write the bytes that were read, whatever they are, use {@link #bytes}.
 *
 * <p><b>Threading.</b> Only on the client's event loop.
 */
public interface HeaderFields {
    /** Returns the first value; {@code null} = there is none. */
    @Nullable
    String get(String name);

    /** Returns whether there is a value. */
    default boolean contains(String name) {
        return get(name) != null;
    }

    /** Returns all values in their order. */
    List<String> getAll(String name);

    /**
     * Replaces all values.
     *
     * @throws IllegalArgumentException if HTTP does not allow this name or value
     */
    void set(String name, String value);

    /**
     * Adds a value after the others.
     *
     * @throws IllegalArgumentException if HTTP does not allow this name or value
     */
    void add(String name, String value);

    /** Removes all values, if there are any. */
    void remove(String name);

    /** Calls {@code action} with each name and value. It must not change them. */
    void forEach(BiConsumer<String, String> action);

    /**
     * Returns the same header fields, with values of which each character is one byte. They can be
     * read and written back without a change. Use them for values that others compare byte by byte,
     * such as entity tags (RFC 9110 section 8.8.3).
     */
    HeaderFields bytes();

    /** Calls {@code action} with each name, for each of its values. It must not change them. */
    default void forEachName(Consumer<String> action) {
        forEach((name, value) -> action.accept(name));
    }

    /**
     * Returns a copy, which belongs to the caller. It can be kept, and be read by any thread while
     * nobody changes it.
     */
    HeaderFields copy();
}
