package io.lambdadispatcher.compression;

import io.lambdadispatcher.core.spi.Filter;
import io.lambdadispatcher.core.spi.FilterExtension;
import io.lambdadispatcher.core.spi.FilterSetting;
import io.lambdadispatcher.core.spi.SettingText;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Compression with the settings {@code function.compression} and {@code
 * function.compression-types}. Created by the service loader.
 */
public final class CompressionExtension implements FilterExtension {
    private static final String TOPIC = "Compression";
    private static final Pattern SEPARATOR = Pattern.compile("[\\s,]+");
    private static final Pattern VALUE = Pattern.compile("(.+?)(?:[\\s,]+min-size[\\s,]+(\\d\\w*))?");
    private static final int MOST_MIN_BYTES = 1 << 20;
    private static final Map<String, ContentEncoding> ENCODINGS = encodings();

    private static final FilterSetting<CompressionPolicy> POLICY = new FilterSetting<>(
            TOPIC,
            "compression",
            CompressionPolicy.class,
            "ENCODING... [min-size SIZE]",
            "one or more of " + String.join(", ", ENCODINGS.keySet())
                    + ", each at most once, and optionally min-size and a size from 0B to 1MiB",
            CompressionExtension::parse,
            CompressionExtension::missing,
            "Compresses responses for clients that accept it. The first encoding wins if a client accepts several"
                    + " equally. Responses smaller than min-size, by default 1KiB, are not compressed. Those whose size is"
                    + " not known in advance are.");

    private static final FilterSetting<MediaTypes> TYPES = new FilterSetting<>(
            TOPIC,
            "compression-types",
            MediaTypes.class,
            "TYPE...",
            "types such as application/json, text/* or *+json",
            text -> MediaTypes.of(List.of(SEPARATOR.split(text))),
            (types, function, functions) -> null,
            "Types of the responses that are compressed.",
            String.join(", ", CompressionPolicy.DEFAULT_TYPES));

    private static Map<String, ContentEncoding> encodings() {
        Map<String, ContentEncoding> encodings = new LinkedHashMap<>();
        for (ContentEncoding each : ContentEncoding.values()) {
            encodings.put(each.token(), each);
        }
        return encodings;
    }

    @Override
    public Filter create() {
        return new ResponseCompression();
    }

    @Override
    public List<FilterSetting<?>> settings() {
        return List.of(POLICY, TYPES);
    }

    private static CompressionPolicy parse(String text) {
        Matcher matcher = VALUE.matcher(text);
        if (!matcher.matches()) {
            throw new IllegalArgumentException(text);
        }
        List<ContentEncoding> encodings = Arrays.stream(SEPARATOR.split(matcher.group(1)))
                .map(CompressionExtension::encoding)
                .toList();
        CompressionPolicy.Builder policy = CompressionPolicy.builder().encodings(encodings);
        if (matcher.group(2) != null) {
            policy.minBytes(SettingText.bytes(matcher.group(2), 0, MOST_MIN_BYTES));
        }
        return policy.buildUnchecked();
    }

    private static ContentEncoding encoding(String token) {
        ContentEncoding encoding = ENCODINGS.get(token);
        if (encoding == null) {
            throw new IllegalArgumentException(token);
        }
        return encoding;
    }

    private static @Nullable String missing(CompressionPolicy policy, String function, Set<String> functions) {
        for (ContentEncoding encoding : policy.encodings()) {
            if (!encoding.isAvailable()) {
                return encoding.artifact() + " on the class path for " + encoding.token();
            }
        }
        return null;
    }
}
