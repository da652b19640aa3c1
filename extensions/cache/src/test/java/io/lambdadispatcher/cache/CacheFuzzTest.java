package io.lambdadispatcher.cache;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.cache.CacheRig.Call;
import io.lambdadispatcher.cache.CacheRig.Client;
import io.lambdadispatcher.core.internal.exchange.Failure.Kind;
import io.lambdadispatcher.core.options.TrafficPolicy;
import io.lambdadispatcher.wire.worker.ErrorCode;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.Http2Headers;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/**
 * Random requests and responses, few enough to collide. Each response has a number. {@link Oracle},
 * which shares no code with the cache, decides for each response that a client gets and that was
 * not made for it, whether RFC 9111 lets a shared cache reuse it. {@code -Dcache.pairs=1000000}
 * runs the number that an issue asks for.
 */
class CacheFuzzTest {
    private static final int PAIRS = Integer.getInteger("cache.pairs", 30_000);
    private static final long SEED = Long.getLong("cache.seed", 20_261_125L);

    private static final int STALE_IF_ERROR = 5;

    private static final String[] REQUEST_FIELDS = {
        "authorization: a",
        "authorization: b",
        "cookie: u=1",
        "cookie: u=2",
        "accept-encoding: gzip",
        "accept-encoding: br",
        "x: 1",
        "x: 2",
        "x: 1, 2",
        "origin: https://b.example",
        "cache-control: no-cache",
        "cache-control: no-store",
        "cache-control: max-age=3",
        "cache-control: min-fresh=3",
        "pragma: no-cache",
        "x-forwarded-host: evil",
        "range: bytes=0-1",
        "if-none-match: \"7\"",
        "accept-language: de"
    };

    private static final String[] DIRECTIVES = {
        "max-age=4",
        "max-age=9",
        "s-maxage=6",
        "public",
        "private",
        "no-store",
        "no-cache",
        "must-revalidate",
        "proxy-revalidate",
        "stale-while-revalidate=4",
        "stale-if-error=8",
        "max-age=x",
        "private=\"a, b\"",
        "MAX-AGE=\"8\"",
        "foo=\"public, max-age=99\"",
        "immutable"
    };

    private static final String[] RESPONSE_FIELDS = {
        "vary: x",
        "vary: Cookie",
        "vary: accept-encoding, X",
        "vary: *",
        "vary: authorization",
        "set-cookie: s=1",
        "age: 3",
        "content-encoding: gzip",
        "access-control-allow-origin: https://b.example",
        "etag: \"7\"",
        "vary: accept-language"
    };

    private static final int[] STATUSES = {200, 200, 200, 200, 200, 404, 301, 302, 500, 503, 206};

    private final Random random = new Random(SEED);
    private final CacheRig rig = new CacheRig(
            TrafficPolicy.builder()
                    .extension(
                            CachePolicy.class,
                            CachePolicy.builder("test")
                                    .staleIfError(Duration.ofSeconds(STALE_IF_ERROR))
                                    .build())
                    .build(),
            1 << 20);
    /** The newest ones. None is reused after 20 s, which is far fewer requests. */
    private final Map<String, Made> made = new LinkedHashMap<>() {
        @Override
        protected boolean removeEldestEntry(Map.Entry<String, Made> eldest) {
            return size() > 10_000;
        }
    };

    private int numbers;

    /** Counts what is sent and removed, to know what came first. */
    private int events;

    private final Map<Call, Integer> sent = new HashMap<>();

    /** When the stored responses of a target were removed; of all targets: {@code ""}. */
    private final Map<String, Integer> removed = new HashMap<>();

    /** The path of a request that the function has just failed. */
    private String failedPath = "";

    private final Map<Call, Asked> pendingCalls = new HashMap<>();
    private final List<Asked> pending = new ArrayList<>();
    private int reused;
    private int stale;
    private int own;

    /** A response that the function has made. */
    private record Made(Map<String, String> request, int status, Map<String, String> response, double time, int sent) {}

    /** A request of a client. */
    private static final class Asked {
        Http2Headers head;
        Map<String, String> request;
        Client client;
        Call call;
        String number;
        boolean failed;
    }

    private double seconds() {
        return rig.nanos / 1e9;
    }

    private static Map<String, String> map(Http2Headers head) {
        Map<String, String> all = new HashMap<>();
        head.forEach(field -> all.merge(
                field.getKey().toString(), field.getValue().toString(), (before, more) -> before + ", " + more));
        return all;
    }

    private String[] some(String[] all, int most) {
        String[] chosen = new String[random.nextInt(most + 1)];
        for (int i = 0; i < chosen.length; i++) {
            chosen[i] = all[random.nextInt(all.length)];
        }
        return chosen;
    }

    @Test
    void should_never_give_a_client_what_is_not_for_it() {
        for (int i = 0; i < PAIRS; i++) {
            ask();
            if (random.nextInt(100) == 0) {
                removed.put("", ++events);
                rig.store.clear();
            }
            while (pending.size() > random.nextInt(12)) {
                answer();
            }
            rig.pass(random.nextInt(8) == 0 ? random.nextDouble() * 6 : random.nextDouble() / 4);
        }
        while (!pending.isEmpty()) {
            answer();
        }
        System.out.println("pairs " + PAIRS + ": own " + own + ", reused " + reused + ", stale " + stale);
        assertThat(reused).isGreaterThan(PAIRS / 50);
        assertThat(stale).isGreaterThan(PAIRS / 1000);
        assertThat(rig.store.flights()).isZero();
    }

    private void ask() {
        Asked asked = new Asked();
        Http2Headers head = new DefaultHttp2Headers(false)
                .method(random.nextInt(10) == 0 ? "HEAD" : random.nextInt(50) == 0 ? "POST" : "GET")
                .scheme("https")
                .authority(
                        random.nextInt(8) == 0 ? "B.example" : random.nextInt(4) == 0 ? "A.example:443" : "a.example")
                .path("/" + random.nextInt(6));
        CacheRig.fields(head, some(REQUEST_FIELDS, random.nextBoolean() ? 1 : 3));
        asked.head = head;
        asked.request = map(head);
        int calls = rig.calls.size();
        asked.client = rig.send(random.nextInt(2), head);
        for (Call each : rig.calls.subList(calls, rig.calls.size())) {
            // What neither this request nor one that has waited sends, renews its answer.
            Asked whose = sender(each) == null ? asked : sender(each);
            pendingCalls.put(each, whose);
            sent.put(each, ++events);
            whose.call = whose.client.ended ? whose.call : each;
        }
        settleEnded();
        pending.add(asked);
        if (asked.client.ended) {
            settle(asked);
        } else if (random.nextInt(30) == 0) {
            asked.client.request.cancel(ErrorCode.CANCELLED);
            asked.client.read();
            pending.remove(asked);
        }
    }

    /** The function responds to one request. Those that have waited may be sent now. */
    private void answer() {
        failedPath = "";
        Call call = pendingCalls.keySet().stream()
                .filter(each -> !each.cancelled)
                .findFirst()
                .orElse(null);
        if (call != null) {
            Asked asked = pendingCalls.remove(call);
            respond(call, asked);
        }
        pendingCalls.keySet().removeIf(each -> each.cancelled);
        sent.keySet().retainAll(pendingCalls.keySet());
        int calls = rig.calls.size();
        rig.run();
        for (Call each : rig.calls.subList(calls, rig.calls.size())) {
            Asked whose = Objects.requireNonNull(sender(each));
            whose.call = each;
            pendingCalls.put(each, whose);
            sent.put(each, ++events);
        }
        rig.calls.clear();
        rig.observer.starts.clear();
        rig.observer.ends.clear();
        rig.clients.clear();
        settleEnded();
    }

    private @Nullable Asked sender(Call call) {
        return pending.stream()
                .filter(asked -> asked.head == call.head)
                .findFirst()
                .orElse(null);
    }

    private void settleEnded() {
        for (Asked each : List.copyOf(pending)) {
            if (each.client.ended || each.client.failure != null) {
                settle(each);
            }
        }
    }

    private static String target(Map<String, String> request) {
        return Oracle.normal(request.get(":authority")) + request.get(":path");
    }

    private boolean wasRemoved(Made made) {
        int last = Math.max(removed.getOrDefault("", 0), removed.getOrDefault(target(made.request()), 0));
        return made.sent() < last;
    }

    private void respond(Call call, Asked asked) {
        int since = sent.remove(call);
        if (random.nextInt(12) == 0) {
            asked.failed = true;
            failedPath = asked.request.get(":path");
            call.fail(Kind.WORKER_LOST);
            return;
        }
        int status = STATUSES[random.nextInt(STATUSES.length)];
        asked.failed = status >= 500;
        failedPath = asked.failed ? asked.request.get(":path") : "";
        String number = Integer.toString(numbers++);
        Http2Headers head = new DefaultHttp2Headers(false).status(Integer.toString(status));
        CacheRig.fields(head, some(RESPONSE_FIELDS, random.nextBoolean() ? 1 : 2));
        String control = String.join(random.nextBoolean() ? ", " : ",", some(DIRECTIVES, 3));
        if (!control.isEmpty()) {
            head.add("cache-control", control);
        }
        head.add("x-number", number);
        asked.number = asked.call == call ? number : asked.number;
        made.put(number, new Made(map(call.head), status, map(head), seconds(), since));
        if (call.head.method().toString().equals("POST") && status < 400) {
            removed.put(target(map(call.head)), ++events);
        }
        boolean bodyless = call.head.method().toString().equals("HEAD");
        call.response.onHead(head, bodyless);
        if (!bodyless && !call.cancelled) {
            call.data(number, true);
        }
    }

    private void settle(Asked asked) {
        pending.remove(asked);
        Client client = asked.client.read();
        if (client.failure != null) {
            return;
        }
        String number = client.field("x-number");
        String status = client.head.status().toString();
        if (status.equals("504") && number == null || status.equals("304")) {
            return;
        }
        Made from = Objects.requireNonNull(made.get(number), "a response that nobody made");
        if (!client.body.isEmpty()) {
            assertThat(client.body.toString())
                    .as("the body belongs to the headers")
                    .isEqualTo(number);
        }
        if (number.equals(asked.number)) {
            own++;
            return;
        }
        boolean isStale = Oracle.age(from, seconds()) >= Oracle.lifetime(from);
        // Those that waited for a request that failed.
        asked.failed |= asked.call == null && failedPath.equals(asked.request.get(":path"));
        String fault = wasRemoved(from) ? "removed" : Oracle.fault(from, asked.request, seconds(), asked.failed);
        assertThat(fault)
                .as(
                        "seed " + SEED + "\n request %s\n got the response %s\n of %s",
                        asked.request,
                        from.response(),
                        from.request())
                .isNull();
        reused++;
        stale += isStale ? 1 : 0;
    }

    /** Reads RFC 9111 and RFC 5861 with regular expressions. */
    private static final class Oracle {
        private static String control(Map<String, String> fields) {
            // Quoted strings hide what is in them, except numbers.
            return ("," + fields.getOrDefault("cache-control", "") + ",")
                    .replaceAll("\"(\\d+)\"", "$1")
                    .replaceAll("\"[^\"]*\"", "quoted")
                    .replace(" ", "")
                    .toLowerCase(Locale.ROOT);
        }

        private static boolean says(String control, String directive) {
            return control.contains("," + directive + ",") || control.contains("," + directive + "=");
        }

        /** Returns the smallest number of a directive, -1 without one. Other text is 0. */
        private static double number(String control, String directive) {
            return Arrays.stream(control.split(","))
                    .filter(each -> each.startsWith(directive + "="))
                    .map(each -> each.substring(directive.length() + 1))
                    .mapToDouble(each -> each.matches("\\d+") ? Double.parseDouble(each) : 0)
                    .min()
                    .orElse(-1);
        }

        static double lifetime(Made made) {
            String control = control(made.response());
            double shared = number(control, "s-maxage");
            return shared >= 0 ? shared : number(control, "max-age");
        }

        static double age(Made made, double now) {
            String first = made.response().getOrDefault("age", "0").split(",")[0];
            return now - made.time() + Double.parseDouble(first);
        }

        private static String normal(@Nullable String part) {
            return String.valueOf(part).toLowerCase(Locale.ROOT).replace(".example:443", ".example");
        }

        /** Returns why the response is not for the request; null = it is. */
        static String fault(Made made, Map<String, String> request, double now, boolean failed) {
            Map<String, String> first = made.request();
            Map<String, String> response = made.response();
            String control = control(response);
            String asked = control(request);
            boolean shared = says(control, "public") || number(control, "s-maxage") >= 0;
            if (!first.get(":method").equals("GET") || !List.of("GET", "HEAD").contains(request.get(":method"))) {
                return "method";
            }
            for (String part : List.of(":scheme", ":authority", ":path", "x-forwarded-host")) {
                if (!normal(first.get(part)).equals(normal(request.get(part)))) {
                    return part;
                }
            }
            for (String never : List.of("no-store", "no-cache", "private")) {
                if (says(control, never)) {
                    return never;
                }
            }
            if (says(asked, "no-store") || says(asked, "no-cache") || says(control(first), "no-store")) {
                return "the request's cache-control";
            }
            if (!request.containsKey("cache-control") && request.containsKey("pragma")) {
                return "pragma";
            }
            if (request.containsKey("range") || first.containsKey("range") || made.status() == 206) {
                return "range";
            }
            if (made.status() >= 500 || made.status() == 302) {
                return "status";
            }
            if (response.containsKey("set-cookie")) {
                return "set-cookie";
            }
            if ((first.containsKey("authorization") || request.containsKey("authorization"))
                    && !shared
                    && !says(control, "must-revalidate")) {
                return "authorization";
            }
            List<String> vary = Arrays.stream(response.getOrDefault("vary", "").split(","))
                    .map(name -> name.strip().toLowerCase(Locale.ROOT))
                    .collect(Collectors.toList());
            if ((first.containsKey("cookie") || request.containsKey("cookie")) && !shared && !vary.contains("cookie")) {
                return "cookie";
            }
            for (String name : vary) {
                if (name.equals("*") || !name.isEmpty() && !Objects.equals(first.get(name), request.get(name))) {
                    return "vary " + name;
                }
            }
            if (response.containsKey("content-encoding") && !vary.contains("accept-encoding")
                    || response.containsKey("access-control-allow-origin") && !vary.contains("origin")) {
                return "a header without vary";
            }
            if (!Objects.equals(first.get("origin"), request.get("origin"))
                    && !"*".equals(response.get("access-control-allow-origin"))) {
                return "origin";
            }
            double lifetime = lifetime(made);
            double age = age(made, now);
            double most = number(asked, "max-age");
            double fresh = number(asked, "min-fresh");
            if (lifetime < 0) {
                return "no explicit freshness";
            }
            boolean enough = (most < 0 || age <= most) && (fresh < 0 || lifetime - age >= fresh);
            if (age < lifetime && enough) {
                return null;
            }
            boolean never = says(control, "must-revalidate") || says(control, "proxy-revalidate");
            double revalidate = never || !enough ? -1 : number(control, "stale-while-revalidate");
            double error = number(control, "stale-if-error");
            error = never ? 0 : error >= 0 ? error : number(control, "s-maxage") >= 0 ? 0 : STALE_IF_ERROR;
            boolean permitted =
                    most < 0 && fresh < 0 && age < lifetime + revalidate || failed && age < lifetime + error;
            return permitted ? null : "stale: age " + age + ", lifetime " + lifetime;
        }
    }
}
