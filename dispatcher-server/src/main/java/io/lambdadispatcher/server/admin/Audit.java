package io.lambdadispatcher.server.admin;

import io.lambdadispatcher.wire.http.PrintableText;
import io.netty.handler.codec.http.FullHttpResponse;
import io.netty.handler.codec.http.HttpRequest;
import io.netty.handler.codec.http.HttpResponseStatus;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.nio.charset.StandardCharsets;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.slf4j.event.Level;

/**
 * Logs each attempt to change something: what, who, and the result, in one line, and as key-value
 * pairs for the log in JSON. Nothing else uses the logger, so these lines can be found, and go
 * elsewhere. Any thread.
 */
final class Audit {
    static final String LOGGER = "audit";

    private static final Logger log = LoggerFactory.getLogger(LOGGER);
    private static final int MAX_RESULT_CHARS = 500;

    private Audit() {}

    /**
     * @param token the number of the token that the request has, from 1 on; 0 = it has none
     * @param answer is only read
     */
    static void attempted(HttpRequest request, SocketAddress remote, int token, FullHttpResponse answer) {
        HttpResponseStatus status = answer.status();
        String target = PrintableText.of(request.uri());
        String from = text(remote);
        String line = request.method() + " " + target + " from " + from
                + (token == 0 ? " without a valid token: " : " with token " + token + ": ") + status.code() + " "
                + result(answer);
        log.atLevel(status.equals(HttpResponseStatus.OK) ? Level.INFO : Level.WARN)
                .addKeyValue("method", request.method())
                .addKeyValue("target", target)
                .addKeyValue("from", from)
                .addKeyValue("token", token)
                .addKeyValue("status", status.code())
                .log(line);
    }

    private static String text(SocketAddress remote) {
        return remote instanceof InetSocketAddress address && !address.isUnresolved()
                ? address.getAddress().getHostAddress() + " port " + address.getPort()
                : remote.toString();
    }

    private static String result(FullHttpResponse answer) {
        return PrintableText.of(
                answer.content().toString(StandardCharsets.UTF_8).strip(), MAX_RESULT_CHARS);
    }
}
