package io.lambdadispatcher.shadow;

import io.lambdadispatcher.core.spi.Filter;
import io.lambdadispatcher.core.spi.FilterExtension;
import io.lambdadispatcher.core.spi.FilterSetting;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Shadow traffic with the setting {@code function.shadow}. Created by the service loader. */
public final class ShadowExtension implements FilterExtension {
    private static final Pattern VALUE = Pattern.compile("(\\d{1,2}|100)%( of all)? to (.+)");

    private static final FilterSetting<ShadowPolicy> SETTING = new FilterSetting<>(
            "Shadow traffic",
            "shadow",
            ShadowPolicy.class,
            "N% [of all] to NAME",
            "1% to 100% of the requests and the name of another function, such as 10% to shop-next, or 10% of all to"
                    + " shop-next",
            ShadowExtension::parse,
            (policy, function, functions) ->
                    functions.contains(policy.function()) && !policy.function().equals(function)
                            ? null
                            : "the name of another function after to",
            "Sends copies of this share of the requests to another function, when they have been answered. Its responses"
                    + " are dropped and only compared. Clients never wait for it. Only requests with GET, HEAD, OPTIONS and"
                    + " TRACE are copied. With of all, every method is, so a copied POST can write twice. Requests with bodies"
                    + " above 256 KiB are not copied.");

    @Override
    public Filter create() {
        return new ShadowTraffic();
    }

    @Override
    public List<FilterSetting<?>> settings() {
        return List.of(SETTING);
    }

    private static ShadowPolicy parse(String text) {
        Matcher matcher = VALUE.matcher(text);
        if (!matcher.matches() || Integer.parseInt(matcher.group(1)) == 0) {
            throw new IllegalArgumentException(text);
        }
        ShadowPolicy policy = ShadowPolicy.of(matcher.group(3), Integer.parseInt(matcher.group(1)) / 100.0);
        return matcher.group(2) == null ? policy : policy.withAllMethods();
    }
}
