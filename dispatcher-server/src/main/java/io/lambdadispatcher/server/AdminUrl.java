package io.lambdadispatcher.server;

import io.lambdadispatcher.server.config.Settings;
import java.net.URI;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Model.OptionSpec;

/** The flag that names the admin port of a running dispatcher. */
final class AdminUrl {
    private static final String FLAG = "--admin-url";

    private final String defaultUrl;

    AdminUrl(Map<String, String> environment) {
        String port = environment.getOrDefault(Settings.ADMIN_PORT.variable(), "");
        defaultUrl = "http://127.0.0.1:" + (port.matches("[1-9]\\d*") ? port : "9901");
    }

    OptionSpec option() {
        return OptionSpec.builder(FLAG)
                .paramLabel("URL")
                .type(String.class)
                .defaultValue(defaultUrl)
                .description("The dispatcher's admin port. The default has the port in "
                        + Settings.ADMIN_PORT.variable() + ", or 9901. (default: ${DEFAULT-VALUE})")
                .build();
    }

    /** Returns the URL that was given; prints what is wrong and returns {@code null} if it is. */
    @Nullable
    URI given(CommandLine line) {
        String given = line.getParseResult().matchedOptionValue(FLAG, defaultUrl);
        URI url = parse(given);
        if (url == null) {
            line.getErr().println(FLAG + ": expected a URL such as http://127.0.0.1:9901, got \"" + given + "\"");
        }
        return url;
    }

    private static @Nullable URI parse(String text) {
        try {
            URI url = URI.create(text);
            boolean http = "http".equals(url.getScheme()) || "https".equals(url.getScheme());
            boolean plain = url.getUserInfo() == null && url.getQuery() == null && url.getFragment() == null;
            return http && plain && url.getHost() != null && url.getPort() <= 65535 ? url : null;
        } catch (IllegalArgumentException e) {
            return null;
        }
    }
}
