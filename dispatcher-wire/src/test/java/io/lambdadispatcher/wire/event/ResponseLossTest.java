package io.lambdadispatcher.wire.event;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.handler.codec.http2.Http2Headers;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** A function that answers in another format than that of its events is told, once. */
class ResponseLossTest {
    private static final int ROUNDS = 500;
    private static final List<String> NAMES =
            List.of("Content-Type", "x-a", "Set-Cookie", "content-length", "keep-alive");

    private static Map<String, Object> response(Random random) {
        Map<String, Object> response = new LinkedHashMap<>();
        response.put("statusCode", 200);
        Map<String, Object> single = new LinkedHashMap<>();
        Map<String, Object> multi = new LinkedHashMap<>();
        for (String name : NAMES) {
            if (random.nextInt(3) == 0) {
                single.put(name, "1");
            }
            if (random.nextInt(3) == 0) {
                multi.put(name, random.nextBoolean() ? List.of("1") : List.of("1", "2"));
            }
        }
        List<Object> cookies = new ArrayList<>();
        for (int i = random.nextInt(3); i > 0; i--) {
            cookies.add("c" + i);
        }
        List<Map.Entry<String, Object>> members = new ArrayList<>(List.of(
                Map.entry("headers", single), Map.entry("multiValueHeaders", multi), Map.entry("cookies", cookies)));
        while (!members.isEmpty()) {
            Map.Entry<String, Object> member = members.remove(random.nextInt(members.size()));
            if (random.nextBoolean()) {
                response.put(member.getKey(), member.getValue());
            }
        }
        return response;
    }

    /** Whether the client misses a name that the function has set, or a cookie. */
    private static boolean loses(Map<String, Object> response, Http2Headers got) {
        boolean lost = false;
        for (String member : List.of("headers", "multiValueHeaders")) {
            if (response.get(member) instanceof Map<?, ?> headers) {
                for (Map.Entry<?, ?> header : headers.entrySet()) {
                    String name = header.getKey().toString().toLowerCase(java.util.Locale.ROOT);
                    int values = header.getValue() instanceof List<?> list ? list.size() : 1;
                    boolean ofApplication = !name.equals("content-length") && !name.equals("keep-alive");
                    int sent = name.equals("set-cookie") ? values : 1;
                    lost |= ofApplication && got.getAll(name).size() < sent;
                }
            }
        }
        return lost
                || response.get("cookies") instanceof List<?> cookies
                        && got.getAll("set-cookie").size() < cookies.size();
    }

    @ParameterizedTest
    @EnumSource
    void should_report_a_header_that_the_client_does_not_get(EventFormat format) throws BadResponseException {
        long seed = System.nanoTime();
        Random random = new Random(seed);
        int losses = 0;
        for (int i = 0; i < ROUNDS; i++) {
            Map<String, Object> response = response(random);
            List<String> reported = new ArrayList<>();
            ResponseReader reader = new ResponseReader(format, reported::add);
            Http2Headers got = reader.read(Json.bytes(response), "GET").head();
            String round = "round " + i + " of seed " + seed + ": " + response;
            boolean onlyCookiesOfBoth =
                    response.containsKey("cookies") && response.toString().contains("Set-Cookie");
            if (!onlyCookiesOfBoth) {
                assertThat(reported).as(round).hasSize(loses(response, got) ? 1 : 0);
            }
            losses += reported.size();
            reader.read(Json.bytes(response), "GET");
            assertThat(reported).as(round).hasSizeLessThanOrEqualTo(1);
        }
        assertThat(losses).isBetween(1, ROUNDS - 1);
    }

    @Test
    void should_name_the_header_its_member_and_the_format() throws BadResponseException {
        List<String> reported = new ArrayList<>();
        byte[] response = Json.bytes(Map.of("statusCode", 200, "cookies", List.of("a=1")));
        new ResponseReader(EventFormat.ALB, reported::add).read(response, "GET");
        assertThat(reported)
                .containsExactly("a response of the function has 'set-cookie' in cookies, which responses to alb events"
                        + " do not have, so the client does not get it");
    }
}
