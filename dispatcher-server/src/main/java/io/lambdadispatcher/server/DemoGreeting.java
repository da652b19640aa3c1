package io.lambdadispatcher.server;

import io.lambdadispatcher.wire.http.PrintableText;
import java.io.IOException;
import java.io.PrintWriter;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Prints example commands and URLs when the demo is ready. */
final class DemoGreeting {
    private static final Logger log = LoggerFactory.getLogger(DemoGreeting.class);

    private final Server server;
    private final @Nullable DemoCertificate certificate;
    private final @Nullable Path whatToTry;

    /**
     * @param whatToTry file whose text replaces the built-in examples; {@code {url}} stands for the
     *     first URL, {@code {authority}} for its host and port
     */
    DemoGreeting(Server server, @Nullable DemoCertificate certificate, @Nullable Path whatToTry) {
        this.server = server;
        this.certificate = certificate;
        this.whatToTry = whatToTry;
    }

    /** Prints everything in one write, so that no line of the log comes in between. */
    void print(PrintWriter out) {
        List<String> urls = server.publicUrls();
        List<String> lines = new ArrayList<>(List.of("", "The demo is ready. Try:", ""));
        whatToTry(urls).forEach(line -> lines.add("  " + line));
        lines.add("");
        urls.forEach(url -> lines.add("Clients:  " + url));
        if (server.adminUrl() != null) {
            lines.add("Metrics:  " + server.adminUrl() + "/metrics");
        }
        lines.addAll(List.of("", "Press Ctrl-C to stop the demo.", ""));
        out.print(String.join(System.lineSeparator(), lines));
        out.flush();
    }

    private List<String> whatToTry(List<String> urls) {
        if (whatToTry != null) {
            try {
                return Files.readAllLines(whatToTry).stream()
                        .map(line -> line.replace("{url}", urls.get(0))
                                .replace("{authority}", URI.create(urls.get(0)).getAuthority()))
                        .toList();
            } catch (IOException e) {
                log.warn("Cannot read {}: {}", whatToTry, PrintableText.ofFailure(e));
            }
        }
        List<String> lines = new ArrayList<>();
        urls.forEach(url -> lines.add(url.startsWith("https") ? overTls(url) : plain(url)));
        lines.add(echo(urls.get(urls.size() - 1)));
        return lines;
    }

    private String plain(String url) {
        return "curl -i " + url + "/ping";
    }

    private String overTls(String url) {
        return "curl -i --http2 " + trust(url) + url + "/headers";
    }

    /**
     * {@code -T -} makes curl send its input as it arrives; {@code -N} makes it print the response
     * without buffering.
     */
    private String echo(String url) {
        return "(for i in 1 2 3; do echo line $i; sleep 1; done) | curl -sN -X POST -T - " + trust(url) + url + "/echo";
    }

    private String trust(String url) {
        if (!url.startsWith("https")) {
            return "";
        }
        return certificate == null ? "-k " : "--cacert " + certificate.certificate() + " ";
    }
}
