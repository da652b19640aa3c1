package io.lambdadispatcher.wire.http;

import io.netty.handler.codec.CharSequenceValueConverter;
import io.netty.handler.codec.http2.Http2Headers;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * The methods of {@link Http2Headers} that take or return numbers and other types. All of them
 * convert to or from text.
 */
abstract class TypedFields implements Http2Headers {
    private static final CharSequenceValueConverter TEXT = CharSequenceValueConverter.INSTANCE;

    /** Returns {@code null} if there is no value, or none of this type. */
    private static <T> @Nullable T read(@Nullable CharSequence value, Function<CharSequence, T> converter) {
        try {
            return value == null ? null : converter.apply(value);
        } catch (RuntimeException e) {
            return null;
        }
    }

    private static <T> T or(@Nullable T value, T otherwise) {
        return value == null ? otherwise : value;
    }

    @Override
    public boolean containsObject(CharSequence name, Object value) {
        return contains(name, TEXT.convertObject(value));
    }

    @Override
    public Http2Headers addObject(CharSequence name, Object value) {
        return add(name, TEXT.convertObject(value));
    }

    @Override
    public Http2Headers addObject(CharSequence name, Iterable<?> values) {
        for (Object value : values) {
            addObject(name, value);
        }
        return this;
    }

    @Override
    public Http2Headers addObject(CharSequence name, Object... values) {
        for (Object value : values) {
            addObject(name, value);
        }
        return this;
    }

    @Override
    public Http2Headers setObject(CharSequence name, Object value) {
        return set(name, TEXT.convertObject(value));
    }

    @Override
    public Http2Headers setObject(CharSequence name, Iterable<?> values) {
        remove(name);
        return addObject(name, values);
    }

    @Override
    public Http2Headers setObject(CharSequence name, Object... values) {
        remove(name);
        return addObject(name, values);
    }

    @Override
    public @Nullable Boolean getBoolean(CharSequence name) {
        return read(get(name), TEXT::convertToBoolean);
    }

    @Override
    public boolean getBoolean(CharSequence name, boolean otherwise) {
        return or(getBoolean(name), otherwise);
    }

    @Override
    public @Nullable Boolean getBooleanAndRemove(CharSequence name) {
        return read(getAndRemove(name), TEXT::convertToBoolean);
    }

    @Override
    public boolean getBooleanAndRemove(CharSequence name, boolean otherwise) {
        return or(getBooleanAndRemove(name), otherwise);
    }

    @Override
    public boolean containsBoolean(CharSequence name, boolean value) {
        return contains(name, TEXT.convertBoolean(value));
    }

    @Override
    public Http2Headers addBoolean(CharSequence name, boolean value) {
        return add(name, TEXT.convertBoolean(value));
    }

    @Override
    public Http2Headers setBoolean(CharSequence name, boolean value) {
        return set(name, TEXT.convertBoolean(value));
    }

    @Override
    public @Nullable Byte getByte(CharSequence name) {
        return read(get(name), TEXT::convertToByte);
    }

    @Override
    public byte getByte(CharSequence name, byte otherwise) {
        return or(getByte(name), otherwise);
    }

    @Override
    public @Nullable Byte getByteAndRemove(CharSequence name) {
        return read(getAndRemove(name), TEXT::convertToByte);
    }

    @Override
    public byte getByteAndRemove(CharSequence name, byte otherwise) {
        return or(getByteAndRemove(name), otherwise);
    }

    @Override
    public boolean containsByte(CharSequence name, byte value) {
        return contains(name, TEXT.convertByte(value));
    }

    @Override
    public Http2Headers addByte(CharSequence name, byte value) {
        return add(name, TEXT.convertByte(value));
    }

    @Override
    public Http2Headers setByte(CharSequence name, byte value) {
        return set(name, TEXT.convertByte(value));
    }

    @Override
    public @Nullable Character getChar(CharSequence name) {
        return read(get(name), TEXT::convertToChar);
    }

    @Override
    public char getChar(CharSequence name, char otherwise) {
        return or(getChar(name), otherwise);
    }

    @Override
    public @Nullable Character getCharAndRemove(CharSequence name) {
        return read(getAndRemove(name), TEXT::convertToChar);
    }

    @Override
    public char getCharAndRemove(CharSequence name, char otherwise) {
        return or(getCharAndRemove(name), otherwise);
    }

    @Override
    public boolean containsChar(CharSequence name, char value) {
        return contains(name, TEXT.convertChar(value));
    }

    @Override
    public Http2Headers addChar(CharSequence name, char value) {
        return add(name, TEXT.convertChar(value));
    }

    @Override
    public Http2Headers setChar(CharSequence name, char value) {
        return set(name, TEXT.convertChar(value));
    }

    @Override
    public @Nullable Short getShort(CharSequence name) {
        return read(get(name), TEXT::convertToShort);
    }

    @Override
    public short getShort(CharSequence name, short otherwise) {
        return or(getShort(name), otherwise);
    }

    @Override
    public @Nullable Short getShortAndRemove(CharSequence name) {
        return read(getAndRemove(name), TEXT::convertToShort);
    }

    @Override
    public short getShortAndRemove(CharSequence name, short otherwise) {
        return or(getShortAndRemove(name), otherwise);
    }

    @Override
    public boolean containsShort(CharSequence name, short value) {
        return contains(name, TEXT.convertShort(value));
    }

    @Override
    public Http2Headers addShort(CharSequence name, short value) {
        return add(name, TEXT.convertShort(value));
    }

    @Override
    public Http2Headers setShort(CharSequence name, short value) {
        return set(name, TEXT.convertShort(value));
    }

    @Override
    public @Nullable Integer getInt(CharSequence name) {
        return read(get(name), TEXT::convertToInt);
    }

    @Override
    public int getInt(CharSequence name, int otherwise) {
        return or(getInt(name), otherwise);
    }

    @Override
    public @Nullable Integer getIntAndRemove(CharSequence name) {
        return read(getAndRemove(name), TEXT::convertToInt);
    }

    @Override
    public int getIntAndRemove(CharSequence name, int otherwise) {
        return or(getIntAndRemove(name), otherwise);
    }

    @Override
    public boolean containsInt(CharSequence name, int value) {
        return contains(name, TEXT.convertInt(value));
    }

    @Override
    public Http2Headers addInt(CharSequence name, int value) {
        return add(name, TEXT.convertInt(value));
    }

    @Override
    public Http2Headers setInt(CharSequence name, int value) {
        return set(name, TEXT.convertInt(value));
    }

    @Override
    public @Nullable Long getLong(CharSequence name) {
        return read(get(name), TEXT::convertToLong);
    }

    @Override
    public long getLong(CharSequence name, long otherwise) {
        return or(getLong(name), otherwise);
    }

    @Override
    public @Nullable Long getLongAndRemove(CharSequence name) {
        return read(getAndRemove(name), TEXT::convertToLong);
    }

    @Override
    public long getLongAndRemove(CharSequence name, long otherwise) {
        return or(getLongAndRemove(name), otherwise);
    }

    @Override
    public boolean containsLong(CharSequence name, long value) {
        return contains(name, TEXT.convertLong(value));
    }

    @Override
    public Http2Headers addLong(CharSequence name, long value) {
        return add(name, TEXT.convertLong(value));
    }

    @Override
    public Http2Headers setLong(CharSequence name, long value) {
        return set(name, TEXT.convertLong(value));
    }

    @Override
    public @Nullable Float getFloat(CharSequence name) {
        return read(get(name), TEXT::convertToFloat);
    }

    @Override
    public float getFloat(CharSequence name, float otherwise) {
        return or(getFloat(name), otherwise);
    }

    @Override
    public @Nullable Float getFloatAndRemove(CharSequence name) {
        return read(getAndRemove(name), TEXT::convertToFloat);
    }

    @Override
    public float getFloatAndRemove(CharSequence name, float otherwise) {
        return or(getFloatAndRemove(name), otherwise);
    }

    @Override
    public boolean containsFloat(CharSequence name, float value) {
        return contains(name, TEXT.convertFloat(value));
    }

    @Override
    public Http2Headers addFloat(CharSequence name, float value) {
        return add(name, TEXT.convertFloat(value));
    }

    @Override
    public Http2Headers setFloat(CharSequence name, float value) {
        return set(name, TEXT.convertFloat(value));
    }

    @Override
    public @Nullable Double getDouble(CharSequence name) {
        return read(get(name), TEXT::convertToDouble);
    }

    @Override
    public double getDouble(CharSequence name, double otherwise) {
        return or(getDouble(name), otherwise);
    }

    @Override
    public @Nullable Double getDoubleAndRemove(CharSequence name) {
        return read(getAndRemove(name), TEXT::convertToDouble);
    }

    @Override
    public double getDoubleAndRemove(CharSequence name, double otherwise) {
        return or(getDoubleAndRemove(name), otherwise);
    }

    @Override
    public boolean containsDouble(CharSequence name, double value) {
        return contains(name, TEXT.convertDouble(value));
    }

    @Override
    public Http2Headers addDouble(CharSequence name, double value) {
        return add(name, TEXT.convertDouble(value));
    }

    @Override
    public Http2Headers setDouble(CharSequence name, double value) {
        return set(name, TEXT.convertDouble(value));
    }

    @Override
    public @Nullable Long getTimeMillis(CharSequence name) {
        return read(get(name), TEXT::convertToTimeMillis);
    }

    @Override
    public long getTimeMillis(CharSequence name, long otherwise) {
        return or(getTimeMillis(name), otherwise);
    }

    @Override
    public @Nullable Long getTimeMillisAndRemove(CharSequence name) {
        return read(getAndRemove(name), TEXT::convertToTimeMillis);
    }

    @Override
    public long getTimeMillisAndRemove(CharSequence name, long otherwise) {
        return or(getTimeMillisAndRemove(name), otherwise);
    }

    @Override
    public boolean containsTimeMillis(CharSequence name, long value) {
        return contains(name, TEXT.convertTimeMillis(value));
    }

    @Override
    public Http2Headers addTimeMillis(CharSequence name, long value) {
        return add(name, TEXT.convertTimeMillis(value));
    }

    @Override
    public Http2Headers setTimeMillis(CharSequence name, long value) {
        return set(name, TEXT.convertTimeMillis(value));
    }
}
