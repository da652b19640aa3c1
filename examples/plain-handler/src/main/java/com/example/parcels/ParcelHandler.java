package com.example.parcels;

import com.amazonaws.services.lambda.runtime.Context;
import com.amazonaws.services.lambda.runtime.RequestHandler;
import com.amazonaws.services.lambda.runtime.events.APIGatewayV2HTTPEvent;
import com.amazonaws.services.lambda.runtime.events.APIGatewayV2HTTPResponse;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.HexFormat;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.zip.CRC32;

/** A function for an HTTP API, which returns the location of parcels and their labels. */
public class ParcelHandler implements RequestHandler<APIGatewayV2HTTPEvent, APIGatewayV2HTTPResponse> {
    /** The simulated response time of the carrier. */
    private static final int CARRIER_MILLIS = 300;

    private final Map<String, Integer> asked = new ConcurrentHashMap<>();
    private final AtomicInteger atOnce = new AtomicInteger();

    @Override
    public APIGatewayV2HTTPResponse handleRequest(APIGatewayV2HTTPEvent event, Context context) {
        String path = event.getRawPath();
        if (path.startsWith("/parcels/")) {
            return parcel(path.substring("/parcels/".length()), context);
        }
        if (path.equals("/label")) {
            return label(event);
        }
        return json(404, "{\"error\":\"no such path\"}");
    }

    private APIGatewayV2HTTPResponse parcel(String number, Context context) {
        int others = atOnce.getAndIncrement();
        try {
            Thread.sleep(CARRIER_MILLIS);
        } catch (InterruptedException e) {
            context.getLogger().log("nobody waits for parcel " + number + " any more");
            return json(503, "{}");
        } finally {
            atOnce.decrementAndGet();
        }
        int times = asked.merge(number, 1, Integer::sum);
        return json(
                200,
                "{\"parcel\":\"%s\",\"asked\":%d,\"othersAtOnce\":%d,\"millisLeft\":%d,\"request\":\"%s\"}"
                        .formatted(
                                number.replaceAll("[^\\w-]", ""),
                                times,
                                others,
                                context.getRemainingTimeInMillis(),
                                context.getAwsRequestId()));
    }

    /** Takes any bytes, and returns binary data as label printers need it. */
    private static APIGatewayV2HTTPResponse label(APIGatewayV2HTTPEvent event) {
        String body = event.getBody() == null ? "" : event.getBody();
        byte[] bytes =
                event.getIsBase64Encoded() ? Base64.getDecoder().decode(body) : body.getBytes(StandardCharsets.UTF_8);
        CRC32 sum = new CRC32();
        sum.update(bytes);
        byte[] label = new byte[bytes.length + 2];
        label[0] = 0x1B;
        System.arraycopy(bytes, 0, label, 1, bytes.length);
        label[label.length - 1] = (byte) 0xFF;
        return APIGatewayV2HTTPResponse.builder()
                .withStatusCode(200)
                .withHeaders(Map.of(
                        "Content-Type", "application/octet-stream",
                        "X-Checksum", HexFormat.of().toHexDigits((int) sum.getValue())))
                .withBody(Base64.getEncoder().encodeToString(label))
                .withIsBase64Encoded(true)
                .build();
    }

    private static APIGatewayV2HTTPResponse json(int status, String body) {
        return APIGatewayV2HTTPResponse.builder()
                .withStatusCode(status)
                .withHeaders(Map.of("Content-Type", "application/json"))
                .withBody(body)
                .build();
    }
}
