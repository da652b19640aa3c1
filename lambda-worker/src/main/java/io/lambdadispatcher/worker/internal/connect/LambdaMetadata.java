package io.lambdadispatcher.worker.internal.connect;

import io.lambdadispatcher.wire.http.PrintableText;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetSocketAddress;
import java.net.Proxy;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Reads where an execution environment of Lambda runs. {@code
 * https://docs.aws.amazon.com/lambda/latest/dg/configuration-metadata-endpoint.html} describes the
 * endpoint. A plain socket is used, because an HTTP client would load several hundred classes in a
 * cold start.
 */
public final class LambdaMetadata {
    static final String ADDRESS = "AWS_LAMBDA_METADATA_API";
    static final String TOKEN = "AWS_LAMBDA_METADATA_TOKEN";

    private static final Logger log = LoggerFactory.getLogger(LambdaMetadata.class);
    private static final Pattern HOST_AND_PORT = Pattern.compile("(.+):(\\d{1,5})");
    private static final Pattern ZONE = Pattern.compile("\"AvailabilityZoneID\"\\s*:\\s*\"([A-Za-z0-9-]{1,64})\"");
    private static final int MAX_BYTES = 16 * 1024;
    private static final int TIMEOUT_MILLIS = 200;

    private LambdaMetadata() {}

    /**
     * Returns the id of the availability zone, for example {@code use1-az1}. Returns an empty text
     * outside of Lambda, or if there is no answer within 0.2 s. Blocks, usually for less than a
     * millisecond. It is different after each restore of a snapshot.
     *
     * @param variables usually {@link System#getenv()}
     */
    public static String availabilityZone(Map<String, String> variables) {
        Matcher address = HOST_AND_PORT.matcher(variables.getOrDefault(ADDRESS, ""));
        if (!address.matches()) {
            return "";
        }
        String host = address.group(1);
        // Otherwise, the JDK looks for a proxy first, with many more classes.
        try (Socket socket = new Socket(Proxy.NO_PROXY)) {
            socket.connect(new InetSocketAddress(host, Integer.parseInt(address.group(2))), TIMEOUT_MILLIS);
            String request = "GET /2026-01-15/metadata/execution-environment HTTP/1.1\r\nHost: " + host
                    + "\r\nAuthorization: Bearer " + variables.getOrDefault(TOKEN, "")
                    + "\r\nConnection: close\r\n\r\n";
            socket.getOutputStream().write(request.getBytes(StandardCharsets.US_ASCII));
            return zoneIn(socket);
        } catch (IOException | IllegalArgumentException e) {
            log.debug("the metadata of Lambda cannot be read: {}", e.toString());
            return "";
        }
    }

    private static String zoneIn(Socket socket) throws IOException {
        long untilNanos = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(TIMEOUT_MILLIS);
        InputStream in = socket.getInputStream();
        ByteArrayOutputStream response = new ByteArrayOutputStream();
        byte[] part = new byte[1024];
        while (response.size() < MAX_BYTES) {
            long leftMillis = TimeUnit.NANOSECONDS.toMillis(untilNanos - System.nanoTime());
            socket.setSoTimeout((int) Math.max(1, leftMillis));
            int bytes = leftMillis <= 0 ? -1 : in.read(part);
            if (bytes < 0) {
                break;
            }
            response.write(part, 0, bytes);
            Matcher zone = ZONE.matcher(response.toString(StandardCharsets.US_ASCII));
            if (zone.find()) {
                return zone.group(1);
            }
        }
        String text = response.toString(StandardCharsets.US_ASCII);
        log.debug("the metadata of Lambda has no zone: {}", PrintableText.startOf(text));
        return "";
    }
}
