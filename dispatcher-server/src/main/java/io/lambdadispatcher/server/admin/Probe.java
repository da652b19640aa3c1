package io.lambdadispatcher.server.admin;

import java.io.IOException;
import java.io.InputStream;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;

/**
 * Requests {@code /health} from the admin port on this machine, for images that have no HTTP
 * client. Exits with 0 if the answer is 200, otherwise with 1. It loads as few classes as possible,
 * because it starts every few seconds.
 */
public final class Probe {
    private static final int TIMEOUT_MILLIS = 3000;

    private Probe() {}

    public static void main(String[] arguments) {
        String port = System.getenv("LAMBDA_DISPATCHER_ADMIN_PORT");
        // An address may come before the port.
        System.exit(isLive(port == null ? 9901 : Integer.parseInt(port.substring(port.lastIndexOf(':') + 1))) ? 0 : 1);
    }

    static boolean isLive(int port) {
        try (Socket socket = new Socket()) {
            socket.connect(new InetSocketAddress("127.0.0.1", port), TIMEOUT_MILLIS);
            socket.setSoTimeout(TIMEOUT_MILLIS);
            socket.getOutputStream()
                    .write("GET /health HTTP/1.0\r\nHost: localhost\r\n\r\n".getBytes(StandardCharsets.US_ASCII));
            InputStream answer = socket.getInputStream();
            return new String(answer.readNBytes(12), StandardCharsets.US_ASCII).endsWith(" 200");
        } catch (IOException e) {
            return false;
        }
    }
}
