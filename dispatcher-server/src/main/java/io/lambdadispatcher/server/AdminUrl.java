package io.lambdadispatcher.server;

import io.lambdadispatcher.server.AdminCommand.WrongUseException;
import io.lambdadispatcher.server.config.Settings;
import io.lambdadispatcher.server.config.ValueType;
import io.lambdadispatcher.server.status.AdminRequest;
import io.lambdadispatcher.wire.http.PrintableText;
import io.lambdadispatcher.wire.tls.PemFile;
import java.io.IOException;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.security.cert.X509Certificate;
import java.util.List;
import java.util.Map;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Model.OptionSpec;
import picocli.CommandLine.ParseResult;

/** The flags that name the admin port of a running dispatcher, and what is needed to use it. */
final class AdminUrl {
    static final String TOKEN_FILE = "--token-file";
    private static final String FLAG = "--admin-url";
    private static final String CA_FILE = "--ca-file";

    private final Map<String, String> environment;
    private final List<String> tokenVariables;
    private final String defaultUrl;

    private AdminUrl(Map<String, String> environment, List<String> tokenVariables) {
        this.environment = environment;
        this.tokenVariables = tokenVariables;
        String port =
                environment.getOrDefault(Settings.ADMIN_PORT.variable(), "").replaceFirst("^.*:", "");
        String scheme = environment.containsKey(Settings.ADMIN_TLS_CERTIFICATE.variable()) ? "https" : "http";
        defaultUrl = scheme + "://127.0.0.1:" + (port.matches("[1-9]\\d*") ? port : "9901");
    }

    static AdminUrl toChange(Map<String, String> environment) {
        return new AdminUrl(environment, List.of(Settings.ADMIN_TOKEN.variable()));
    }

    static AdminUrl toRead(Map<String, String> environment) {
        return new AdminUrl(
                environment, List.of(Settings.ADMIN_TOKEN.variable(), Settings.ADMIN_READ_TOKEN.variable()));
    }

    /** Returns the variables that may have the token. The first one that is set has it. */
    List<String> tokenVariables() {
        return tokenVariables;
    }

    List<OptionSpec> options() {
        return List.of(
                url(),
                file(TOKEN_FILE, "File with a token of the admin port in its first line."),
                file(
                        CA_FILE,
                        "PEM file of the port's certificate or authorities. Default: "
                                + Settings.ADMIN_TLS_CERTIFICATE.variable() + ", or the JVM's authorities."));
    }

    private static OptionSpec file(String flag, String description) {
        return OptionSpec.builder(flag)
                .paramLabel("FILE")
                .type(String.class)
                .description(description)
                .build();
    }

    private OptionSpec url() {
        return OptionSpec.builder(FLAG)
                .paramLabel("URL")
                .type(String.class)
                .defaultValue(defaultUrl)
                .description(
                        "The dispatcher's admin port, with the port in",
                        Settings.ADMIN_PORT.variable() + " or 9901.",
                        "(default: ${DEFAULT-VALUE})")
                .build();
    }

    /** Returns the URL that was given, without a slash at the end. */
    URI given(ParseResult arguments) throws WrongUseException {
        String given = arguments.matchedOptionValue(FLAG, defaultUrl);
        URI url = parse(given.replaceFirst("/+$", ""));
        if (url == null) {
            throw new WrongUseException(FLAG + ": expected a URL such as http://127.0.0.1:9901, got \"" + given + "\"");
        }
        return url;
    }

    /** Returns what sends requests to the port, as the flags and the environment say. */
    AdminRequest port(ParseResult arguments) throws WrongUseException {
        String authorities =
                arguments.matchedOptionValue(CA_FILE, environment.get(Settings.ADMIN_TLS_CERTIFICATE.variable()));
        return new AdminRequest(authorities == null ? null : trusting(authorities), token(arguments));
    }

    private static SSLContext trusting(String file) throws WrongUseException {
        try {
            KeyStore trusted = KeyStore.getInstance(KeyStore.getDefaultType());
            trusted.load(null, null);
            for (X509Certificate each :
                    PemFile.read("certificate authorities", Path.of(file)).certificates()) {
                trusted.setCertificateEntry(String.valueOf(trusted.size()), each);
            }
            TrustManagerFactory factory = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
            factory.init(trusted);
            SSLContext context = SSLContext.getInstance("TLS");
            context.init(null, factory.getTrustManagers(), null);
            return context;
        } catch (GeneralSecurityException | IOException | RuntimeException e) {
            throw new WrongUseException(CA_FILE + ": " + PrintableText.ofFailure(e));
        }
    }

    private @Nullable String token(ParseResult arguments) throws WrongUseException {
        String variable = tokenVariables.stream()
                .filter(environment::containsKey)
                .findFirst()
                .orElse(tokenVariables.get(0));
        String text = environment.get(variable);
        String named = text != null && text.startsWith(ValueType.SECRET_FILE)
                ? text.substring(ValueType.SECRET_FILE.length())
                : null;
        String file = arguments.matchedOptionValue(TOKEN_FILE, named);
        if (file == null && text == null) {
            return null;
        }
        String token = file == null ? text : firstLine(file);
        if (token == null || !token.matches("[!-~]+")) {
            throw new WrongUseException((file == null ? variable : TOKEN_FILE)
                    + ": expected a token of visible ASCII characters without spaces"
                    + (file == null ? "" : " in the first line of " + file));
        }
        return token;
    }

    private static String firstLine(String file) throws WrongUseException {
        try {
            return new String(Files.readAllBytes(Path.of(file)), StandardCharsets.ISO_8859_1)
                    .lines()
                    .findFirst()
                    .orElse("");
        } catch (IOException | InvalidPathException e) {
            throw new WrongUseException(TOKEN_FILE + ": expected a readable file, got \"" + file + "\"");
        }
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
