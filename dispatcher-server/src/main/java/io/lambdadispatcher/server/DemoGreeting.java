package io.lambdadispatcher.server;

import java.io.PrintWriter;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** What a demo shows when it is ready. */
final class DemoGreeting {
    private final Server server;
    private final @Nullable DemoCertificate certificate;

    DemoGreeting(Server server, @Nullable DemoCertificate certificate) {
        this.server = server;
        this.certificate = certificate;
    }

    void print(PrintWriter out) {
        List<String> urls = server.publicUrls();
        out.println();
        out.println("The demo is ready. Try");
        out.println();
        for (String url : urls) {
            out.println("  " + (url.startsWith("https") ? overTls(url) : plain(url)));
        }
        out.println("  " + echo(urls.get(urls.size() - 1)));
        out.println();
        urls.forEach(url -> out.println("clients  " + url));
        if (server.adminUrl() != null) {
            out.println("admin    " + server.adminUrl() + "/metrics");
        }
        out.println();
        out.println("Ctrl-C ends it.");
        out.flush();
    }

    private String plain(String url) {
        return "curl -i " + url + "/ping";
    }

    private String overTls(String url) {
        return "curl -i --http2 " + trust(url) + url + "/headers";
    }

    /** {@code -T -} sends what is typed as it is typed; {@code -N} shows what comes back at once. */
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
