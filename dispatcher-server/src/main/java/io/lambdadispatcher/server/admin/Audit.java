package io.lambdadispatcher.server.admin;

import io.netty.handler.codec.http.FullHttpResponse;
import io.netty.handler.codec.http.HttpRequest;
import io.netty.handler.codec.http.HttpResponseStatus;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.nio.charset.StandardCharsets;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Logs each attempt to change something: what, who, and the result, in one line. The logger has a
 * name of its own, so that these lines can be found, and go elsewhere. Any thread.
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
        String line = request.method() + " " + visible(request.uri()) + " from " + text(remote)
                + (token == 0 ? " without a valid token: " : " with token " + token + ": ") + status.code() + " "
                + visible(result(answer));
        if (status.equals(HttpResponseStatus.OK)) {
            log.info(line);
        } else {
            log.warn(line);
        }
    }

    private static String text(SocketAddress remote) {
        return remote instanceof InetSocketAddress address && !address.isUnresolved()
                ? address.getAddress().getHostAddress() + " port " + address.getPort()
                : remote.toString();
    }

    private static String result(FullHttpResponse answer) {
        String text = answer.content().toString(StandardCharsets.UTF_8).strip();
        return text.length() <= MAX_RESULT_CHARS ? text : text.substring(0, MAX_RESULT_CHARS) + " ...";
    }

    /** A request must not be able to add a line to the log. */
    private static String visible(String text) {
        return text.replaceAll("[^ -~]", "?");
    }
}
