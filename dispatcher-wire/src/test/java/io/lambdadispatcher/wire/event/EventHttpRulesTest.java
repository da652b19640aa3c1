package io.lambdadispatcher.wire.event;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.lambdadispatcher.wire.testkit.HttpRules;
import io.lambdadispatcher.wire.testkit.HttpRules.Body;
import io.lambdadispatcher.wire.testkit.HttpRules.Header;
import io.lambdadispatcher.wire.testkit.HttpRules.Length;
import io.lambdadispatcher.wire.testkit.HttpRules.Status;
import io.lambdadispatcher.wire.testkit.HttpRules.Verdict;
import io.netty.handler.codec.http2.Http2Headers;
import java.io.StringWriter;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import tools.jackson.core.JsonGenerator;
import tools.jackson.core.ObjectWriteContext;
import tools.jackson.core.json.JsonFactory;

/** The rules of HTTP for what functions return, whole and streamed. */
class EventHttpRulesTest {
    static List<Header> headers() {
        return HttpRules.headers();
    }

    static List<Status> statuses() {
        return HttpRules.statuses();
    }

    static List<Length> lengths() {
        return HttpRules.lengths();
    }

    static List<Body> bodies() {
        return HttpRules.bodies();
    }

    private static byte[] json(String status, String body, String... fields) {
        StringWriter text = new StringWriter();
        try (JsonGenerator json = new JsonFactory().createGenerator(ObjectWriteContext.empty(), text)) {
            json.writeStartObject();
            json.writeStringProperty("statusCode", status);
            json.writeStringProperty("body", body);
            json.writeName("multiValueHeaders");
            json.writeStartObject();
            for (int i = 0; i < fields.length; i += 2) {
                json.writeName(fields[i]);
                json.writeStartArray();
                json.writeString(fields[i + 1]);
                json.writeEndArray();
            }
            json.writeEndObject();
            json.writeEndObject();
        }
        return text.toString().getBytes(StandardCharsets.UTF_8);
    }

    private static FunctionResponse read(byte[] json, String method) throws BadResponseException {
        return new ResponseReader(EventFormat.ALB_MULTI_VALUE).read(json, method);
    }

    private static void verify(Verdict expected, String name, byte[] json) throws Exception {
        if (expected == Verdict.REFUSED) {
            assertThatThrownBy(() -> read(json, "GET")).isInstanceOf(BadResponseException.class);
            assertThatThrownBy(() -> StreamPrelude.read(json)).isInstanceOf(BadResponseException.class);
        } else {
            for (Http2Headers head : List.of(read(json, "GET").head(), StreamPrelude.read(json))) {
                assertThat(head.contains(name)).isEqualTo(expected == Verdict.PASSED);
            }
        }
    }

    @ParameterizedTest
    @MethodSource("headers")
    void should_pass_drop_or_refuse_headers(Header rule) throws Exception {
        String nominated = rule.nominated() ? "X-Other, " + rule.name() : "x-other";
        if (rule.nominated()) {
            verify(rule.inResponse(), rule.name(), json("200", "", "Connection", nominated, rule.name(), rule.value()));
        } else {
            verify(rule.inResponse(), rule.name(), json("200", "", rule.name(), rule.value()));
        }
    }

    @ParameterizedTest
    @MethodSource("statuses")
    void should_take_final_statuses_only(Status rule) throws Exception {
        verify(rule.asFinal(), ":status", json(rule.text(), ""));
    }

    /**
     * JSON frames the body. Its length takes the place of any other, so that nothing has to be
     * refused.
     */
    @ParameterizedTest
    @MethodSource("lengths")
    void should_replace_the_content_length(Length rule) throws Exception {
        for (String value : rule.values()) {
            Http2Headers head = read(json("200", HttpRules.BODY, "Content-Length", value), "GET")
                    .head();
            assertThat(head.getAll("content-length")).hasToString("[4]");
        }
    }

    /** A whole body is dropped where there can be none. */
    @ParameterizedTest
    @MethodSource("bodies")
    void should_drop_the_body_where_there_is_none(Body rule) throws Exception {
        FunctionResponse response =
                read(json(rule.status(), rule.sent() ? HttpRules.BODY : ""), rule.toHead() ? "HEAD" : "GET");
        assertThat(response.body()).hasSize(rule.sent() && rule.verdict() == Verdict.PASSED ? 4 : 0);
        assertThat(response.head().contains("content-length"))
                .isNotEqualTo(
                        rule.status().equals("204") || rule.status().equals("304") || rule.toHead() && !rule.sent());
    }
}
