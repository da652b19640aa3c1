package io.lambdadispatcher.cache;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.cache.CacheRules.Fit;
import io.lambdadispatcher.cache.StoredResponse.Terms;
import io.lambdadispatcher.core.options.AdmissionPolicy;
import io.lambdadispatcher.core.options.Affinity;
import io.lambdadispatcher.core.options.TrafficPolicy;
import io.lambdadispatcher.core.spi.RequestContext;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.Http2Headers;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** RFC 9111 and RFC 5861, rule by rule. Headers are written as {@code name: value|name: value}. */
class CacheRulesTest {
    private static final long NOW_MILLIS = 1_700_000_000_000L; // Tue, 14 Nov 2023 22:13:20 GMT
    private static final long NOW = TimeUnit.DAYS.toNanos(10);

    private TrafficPolicy policy =
            with(TrafficPolicy.builder(), CachePolicy.builder("test").build());

    private static TrafficPolicy with(TrafficPolicy.Builder builder, CachePolicy cache) {
        return builder.extension(CachePolicy.class, cache).build();
    }

    private RequestContext asked(Http2Headers head) {
        return CacheRig.asked(head, policy);
    }

    private static Http2Headers fields(Http2Headers head, String fields) {
        for (String field : fields.split("\\|")) {
            if (!field.isEmpty()) {
                head.add(
                        field.substring(0, field.indexOf(':')),
                        field.substring(field.indexOf(':') + 1).strip());
            }
        }
        return head;
    }

    private static Http2Headers get(String fields) {
        return fields(
                new DefaultHttp2Headers(false)
                        .method("GET")
                        .scheme("https")
                        .authority("a.example")
                        .path("/"),
                fields);
    }

    /** RFC 9111 section 2: the target URI, of which RFC 3986 section 6.2.3 says what is equal. */
    @ParameterizedTest
    @ValueSource(strings = {"A.Example", "a.example:443", "a.example.", "a.example:"})
    void should_take_other_spellings_of_the_authority_for_the_same_target(String authority) {
        Http2Headers other = get("").authority(authority);
        String key = CacheRequest.key(asked(get("")));
        assertThat(CacheRequest.key(asked(other))).isEqualTo(key);
        assertThat(CacheRequest.key(asked(other.scheme("http")))).isNotEqualTo(key);
    }

    private @Nullable CacheRequest request(String fields) {
        return CacheRequest.of(asked(get(fields)), Objects.requireNonNull(policy.extension(CachePolicy.class)));
    }

    private @Nullable Terms terms(String request, int status, String response) {
        CacheRequest asked = request(request);
        return asked == null
                ? null
                : CacheRules.terms(asked, status, asked(get(response)).headers(), NOW, NOW, NOW_MILLIS);
    }

    private Fit fit(String stored, String response, String request, long ageSeconds) {
        Terms terms = terms(stored, 200, response);
        CacheRequest asked = request(request);
        return terms == null || asked == null
                ? Fit.NONE
                : CacheRules.fit(terms, asked, NOW + TimeUnit.SECONDS.toNanos(ageSeconds));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "cache-control: max-age=60",
                "cache-control: MAX-AGE=\"60\"",
                "cache-control: max-age=0, s-maxage=60",
                "cache-control: foo=\"no-store, private\", max-age=60",
                "expires: Tue, 14 Nov 2023 22:14:20 GMT",
                "date: Tue, 14 Nov 2023 22:13:20 GMT|expires: Tue, 14 Nov 2023 22:14:20 GMT"
            })
    void should_store_what_says_for_how_long_it_is_fresh_9111_4_2_1(String response) {
        assertThat(fit("", response, "", 59)).isEqualTo(Fit.FRESH);
        assertThat(fit("", response, "", 60)).isEqualTo(Fit.NONE);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "last-modified: Tue, 14 Nov 2022 22:14:20 GMT",
                "cache-control: public",
                "cache-control: no-store, max-age=60",
                "cache-control: no-cache, max-age=60",
                "cache-control: no-cache=\"x\", max-age=60",
                "cache-control: private, max-age=60",
                "cache-control: max-age=60|cache-control: PRIVATE=\"set-cookie\"",
                "cache-control: max-age=60|set-cookie: a=b",
                "cache-control: max-age=60|vary: *",
                "cache-control: max-age=60|vary: accept, *",
                "cache-control: max-age=60|vary: a b",
                "cache-control: max-age=60|age: 60",
                "cache-control: max-age=60|age: x",
                "cache-control: max-age=60|date: yesterday",
                "cache-control: max-age=60|date: Tue, 14 Nov 2023 22:12:20 GMT",
                "cache-control: max-age=60, max-age=0",
                "cache-control: max-age=x",
                "cache-control: max-age=-1",
                "cache-control: max-age=60, s-maxage=0",
                "cache-control: private; max-age=60, max-age=60",
                "cache-control: max-age=60, x=\"private",
                "cache-control: max-age=60|content-range: bytes 0-1/2",
                "cache-control: max-age=60|content-encoding: gzip",
                "cache-control: max-age=60|access-control-allow-origin: https://b.example",
                "expires: 0",
                "expires: Tue, 14 Nov 2023 22:13:20 GMT"
            })
    void should_not_store_9111_3(String response) {
        assertThat(terms("", 200, response)).isNull();
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '/',
            value = {
                "''        / ''                                    / ''        / true",
                "''        / ''                                    / origin: a / false",
                "origin: a / ''                                    / origin: a / true",
                "origin: a / ''                                    / origin: b / false",
                "origin: a / ''                                    / ''        / false",
                "''        / |access-control-allow-origin: *       / origin: a / true",
                "origin: a / |access-control-allow-origin: *       / origin: b / true",
                "origin: a / |access-control-allow-origin: *       / ''        / true",
                "origin: a / |access-control-allow-origin: a|vary: origin / origin: a / true",
                "origin: a / |access-control-allow-origin: a|vary: origin / origin: b / false",
                "''        / |vary: accept                         / origin: a / false",
            })
    void should_answer_other_origins_only_if_all_are_allowed(
            String first, String response, String later, boolean answers) {
        assertThat(fit(first, "cache-control: public, max-age=60" + response, later, 1))
                .isEqualTo(answers ? Fit.FRESH : Fit.NONE);
    }

    @Test
    void should_replace_an_error_with_a_response_that_never_expires_5861_4() {
        String never = "expires: Fri, 31 Dec 9999 23:59:59 GMT|cache-control: stale-if-error=60";
        assertThat(fit("", never, "", 30)).isEqualTo(Fit.FRESH);
        assertThat(fit("", never, "cache-control: max-age=10", 30)).isEqualTo(Fit.ON_ERROR);
    }

    @ParameterizedTest
    @CsvSource({"200,true", "204,true", "301,true", "404,true", "410,true", "206,false", "302,false", "500,false"})
    void should_store_some_statuses_9111_3(int status, boolean stored) {
        assertThat(terms("", status, "cache-control: max-age=60") != null).isEqualTo(stored);
    }

    @ParameterizedTest
    @CsvSource({
        "max-age=60,false",
        "'max-age=60, public',true",
        "'max-age=60, must-revalidate',true",
        "s-maxage=60,true"
    })
    void should_share_responses_to_authorization_only_if_they_permit_it_9111_3_5(String control, boolean shared) {
        String response = "cache-control: " + control;
        assertThat(terms("authorization: a", 200, response) != null).isEqualTo(shared);
        assertThat(fit("", response, "authorization: a", 1)).isEqualTo(shared ? Fit.FRESH : Fit.NONE);
    }

    @ParameterizedTest
    @CsvSource({
        "cache-control: max-age=60,false",
        "'cache-control: max-age=60, must-revalidate',false",
        "'cache-control: max-age=60, public',true",
        "cache-control: s-maxage=60,true",
        "cache-control: max-age=60|vary: cookie,true"
    })
    void should_share_responses_to_cookies_only_if_they_permit_it(String response, boolean shared) {
        assertThat(terms("cookie: a=b", 200, response) != null).isEqualTo(shared);
        assertThat(fit("cookie: a=b", response, "cookie: a=b", 1)).isEqualTo(shared ? Fit.FRESH : Fit.NONE);
        boolean varies = response.contains("vary");
        assertThat(fit("", response, "cookie: a=b", 1)).isEqualTo(shared && !varies ? Fit.FRESH : Fit.NONE);
    }

    @ParameterizedTest
    @CsvSource({
        "x: a,x: a,true",
        "x: a,x: b,false",
        "x: a,'',false",
        "'',x: a,false",
        "'','',true",
        "x: a|x: b,'x: a, b',true",
        "x: a|x: b,x: b|x: a,false",
        "accept-encoding: gzip|x: 1,accept-encoding: GZIP |x: 1,true",
        "'accept-encoding: gzip, br|x: 1','accept-encoding: gzip,br|x: 1',true"
    })
    void should_compare_what_vary_names_9111_4_1(String first, String second, boolean same) {
        String response = "cache-control: max-age=60|vary: X, Accept-Encoding";
        assertThat(fit(first, response, second, 1)).isEqualTo(same ? Fit.FRESH : Fit.NONE);
    }

    /** CGI makes one variable of all of them (RFC 3875 section 4.1.18). */
    @ParameterizedTest
    @CsvSource({
        "hx_request: a,'',false",
        "'',hx.request: a,false",
        "hx_request: a,hx-request: a,false",
        "hx_request: a,hx_request: b,false",
        "hx_request: a,hx_request: a,true",
        "hx_request: a,hx_request: a|hx-request: null,false",
        "hx-request: a,'',false",
        "hx_requests: a,hy_request: a,true"
    })
    void should_compare_what_an_application_takes_for_a_header_that_vary_names(
            String first, String second, boolean same) {
        for (String vary : List.of("HX-Request", "hx_request")) {
            String response = "cache-control: max-age=60|vary: " + vary;
            assertThat(fit(first, response, second, 1)).as(vary).isEqualTo(same ? Fit.FRESH : Fit.NONE);
        }
    }

    @ParameterizedTest
    @CsvSource({
        "cache-control: no-cache,NONE",
        "pragma: no-cache,NONE",
        "pragma: no-cache|cache-control: max-age=100,FRESH",
        "cache-control: max-age=10,FRESH",
        "cache-control: max-age=9,ON_ERROR",
        "cache-control: max-age=x,ON_ERROR",
        "cache-control: min-fresh=50,FRESH",
        "cache-control: min-fresh=51,ON_ERROR",
        "cache-control: no-store,NONE",
        "range: bytes=0-1,NONE",
        "x-http-method-override: POST,NONE",
        "content-type: application/grpc,NONE"
    })
    void should_do_what_the_request_says_9111_5_2_1(String request, Fit fit) {
        assertThat(fit("", "cache-control: max-age=60", request, 10)).isEqualTo(fit);
    }

    @Test
    void should_answer_while_it_renews_5861_3() {
        String response = "cache-control: max-age=60, stale-while-revalidate=30";
        assertThat(fit("", response, "", 60)).isEqualTo(Fit.STALE);
        assertThat(fit("", response, "cache-control: max-age=100", 60)).isEqualTo(Fit.NONE);
        assertThat(fit("", response, "", 90)).isEqualTo(Fit.NONE);
    }

    @Test
    void should_replace_errors_for_a_time_5861_4() {
        String response = "cache-control: max-age=60, stale-if-error=30";
        assertThat(fit("", response, "", 89)).isEqualTo(Fit.ON_ERROR);
        assertThat(fit("", response, "", 90)).isEqualTo(Fit.NONE);
        policy = with(
                policy.toBuilder(),
                CachePolicy.builder("test").staleIfError(Duration.ofSeconds(40)).build());
        assertThat(fit("", "cache-control: max-age=60", "", 99)).isEqualTo(Fit.ON_ERROR);
        assertThat(fit("", "cache-control: max-age=60, stale-if-error=0", "", 60))
                .isEqualTo(Fit.NONE);
        // RFC 9111 section 5.2.2.10.
        assertThat(fit("", "cache-control: s-maxage=60", "", 60)).isEqualTo(Fit.NONE);
        assertThat(fit("", "cache-control: s-maxage=60, stale-if-error=9", "", 60))
                .isEqualTo(Fit.ON_ERROR);
    }

    @ParameterizedTest
    @ValueSource(strings = {"must-revalidate", "proxy-revalidate"})
    void should_never_be_stale_9111_5_2_2_2(String directive) {
        String response = "cache-control: max-age=60, stale-while-revalidate=30, stale-if-error=30, " + directive;
        assertThat(fit("", response, "", 59)).isEqualTo(Fit.FRESH);
        assertThat(fit("", response, "", 60)).isEqualTo(Fit.NONE);
    }

    @Test
    void should_count_the_age_that_a_response_arrives_with_9111_4_2_3() {
        assertThat(fit("", "cache-control: max-age=60|age: 20", "", 39)).isEqualTo(Fit.FRESH);
        assertThat(fit("", "cache-control: max-age=60|age: 20", "", 40)).isEqualTo(Fit.NONE);
        String old = "cache-control: max-age=60|date: Tue, 14 Nov 2023 22:13:00 GMT";
        assertThat(fit("", old, "", 39)).isEqualTo(Fit.FRESH);
        assertThat(fit("", old, "", 40)).isEqualTo(Fit.NONE);
    }

    @ParameterizedTest
    @CsvSource({
        "x-forwarded-host: a,x-forwarded-host: b,false",
        "x-forwarded-proto: http,'',false",
        "x-forwarded-for: 1.1.1.1,x-forwarded-for: 2.2.2.2,true",
        "forwarded: for=1.1.1.1;host=a,forwarded: for=2.2.2.2;host=a,true",
        "forwarded: for=1.1.1.1;host=a,forwarded: for=1.1.1.1;host=b,false",
        "x-original-host: a,x-original-host: b,false",
        "x-host: a,'',false",
        "x-scheme: http,x-scheme: https,false",
        "x-amzn-oidc-identity: a,x-amzn-oidc-identity: b,false",
        "x-amzn-mtls-clientcert-subject: a,x-amzn-mtls-clientcert-subject: b,false",
        "x-amzn-oidc-identity: a,x-amzn-oidc-identity: a,true",
        "x-real-ip: 1.1.1.1,x-real-ip: 2.2.2.2,true",
        "x-original-forwarded-for: 1.1.1.1,x-original-forwarded-for: 2.2.2.2,true",
        "x-envoy-external-address: 1.1.1.1,x-envoy-external-address: 2.2.2.2,true",
        "x-envoy-attempt-count: 1,x-envoy-attempt-count: 2,true",
        "cloudfront-viewer-address: 1.1.1.1:1,cloudfront-viewer-address: 2.2.2.2:2,true",
        "cloudfront-viewer-city: a,cloudfront-viewer-city: b,true",
        "cloudfront-forwarded-proto: http,cloudfront-forwarded-proto: https,false",
        "x-tenant: a,x-tenant: b,false",
        "x-tenant: a,x-tenant: a,true"
    })
    void should_separate_what_chooses_a_response_unnamed(String first, String second, boolean same) {
        policy = policy.toBuilder()
                .admission(AdmissionPolicy.builder("t").tenants("x-tenant", 1).build())
                .build();
        assertThat(fit(first, "cache-control: max-age=60, public", second, 1)).isEqualTo(same ? Fit.FRESH : Fit.NONE);
    }

    @Test
    void should_not_store_what_names_a_session() {
        policy = policy.toBuilder()
                .affinity(Affinity.sessionHeader("mcp-session-id"))
                .build();
        assertThat(terms("", 200, "cache-control: max-age=60, public|mcp-session-id: a"))
                .isNull();
        assertThat(request("mcp-session-id: a")).isNull();
    }
}
