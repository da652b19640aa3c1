package io.lambdadispatcher.server.config;

import static io.lambdadispatcher.server.config.ValueType.SPACES;
import static io.lambdadispatcher.server.config.ValueType.require;
import static io.lambdadispatcher.server.config.ValueType.single;

import io.lambdadispatcher.aws.FunctionName;
import io.lambdadispatcher.core.options.BreakerPolicy;
import io.lambdadispatcher.core.options.CapacityPolicy;
import io.lambdadispatcher.core.options.DirectOptions;
import io.lambdadispatcher.core.options.ForwardingPolicy;
import io.lambdadispatcher.core.options.FunctionOptions;
import io.lambdadispatcher.core.options.HttpLimits;
import io.lambdadispatcher.core.options.Priority;
import io.lambdadispatcher.core.options.RateLimit;
import io.lambdadispatcher.core.options.RolloutPolicy;
import io.lambdadispatcher.core.options.WorkerSchedule;
import io.lambdadispatcher.core.spi.SettingText;
import java.time.Duration;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Function;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Types of values that hold a whole policy: one word that says most, and pairs of a keyword and a
 * value in any order, such as {@code 600/m burst 50 by client}.
 */
public final class PolicyValueTypes {
    private static final int MOST_REQUESTS = 10_000_000;
    private static final Duration POLL = Duration.ofSeconds(30);
    /** The dispatcher counts milliseconds of pings as an int. */
    private static final Duration LONGEST_PING = Duration.ofMillis(Integer.MAX_VALUE);

    private static final Pattern SEMICOLONS = Pattern.compile(" *; *");
    private static final Pattern RATE = Pattern.compile("(\\d{1,7})/([smhd])");
    private static final Pattern SPILLOVER = Pattern.compile("(\\S+)(?: +to +(.+))?");
    private static final Pattern ROLLOUT =
            Pattern.compile("(?:(fast|careful)|((?:\\d{1,3}% +)+)for +(\\S+))(?: +poll +(\\S+))?");

    private PolicyValueTypes() {}

    /**
     * Whose requests a limit counts together.
     *
     * @param header names the tenant, in lower case
     * @param maxRequests of each tenant that are unfinished; 0 = any number
     */
    record Tenants(String header, int maxRequests) {}

    /** @param header says the priority of a request instead, in lower case; {@code null} = none */
    record RequestPriority(Priority priority, @Nullable String header) {}

    /**
     * @param errorPercent share of failures that opens the circuit breaker
     * @param slow time after which a request has failed; zero = any
     * @param open time for which it is open
     */
    record CircuitBreaker(int errorPercent, Duration slow, Duration open) {}

    /**
     * When a queued request is sent as an invocation.
     *
     * @param lambda {@code null} = the Lambda function that runs the workers
     */
    record Spillover(Duration after, @Nullable String lambda) {}

    /** @param streams on each of the connections */
    record Concurrency(int connections, int streams) {}

    /** @param connections of all workers together; 0 = any number */
    record Downstream(int connections, int perWorker) {}

    /** @param always the minimum at all times; the schedule has larger ones */
    record MinWorkers(int always, WorkerSchedule schedule) {
        /** Returns the largest minimum of any time. */
        int largest() {
            return Math.max(always, schedule.largest());
        }
    }

    /** @param poll time between two looks at the alias */
    record Rollout(RolloutPolicy policy, Duration poll) {}

    /** How a dead worker connection is found. */
    public record KeepAlive(Duration interval, Duration timeout) {}

    /** @param perAddress of one IPv4 address or one IPv6 /64 network */
    public record MaxConnections(int all, int perAddress) {}

    /** @param via whether the via header is added, too */
    public record ForwardingHeaders(ForwardingPolicy.Headers headers, boolean via) {}

    /** A text of words: the first, and the values of the keywords that follow it. */
    private record Phrase(String first, Map<String, String> values) {
        static Phrase parse(String text, String... keywords) {
            String[] words = SPACES.split(text.trim());
            require(words.length % 2 == 1);
            Map<String, String> values = new HashMap<>();
            for (int i = 1; i < words.length; i += 2) {
                require(List.of(keywords).contains(words[i]));
                require(values.putIfAbsent(words[i], words[i + 1]) == null);
            }
            return new Phrase(words[0], values);
        }

        <T> T value(String keyword, Function<String, T> parser, T otherwise) {
            String text = values.get(keyword);
            return text == null ? otherwise : parser.apply(text);
        }
    }

    static ValueType<Optional<RateLimit>> rateLimit() {
        String expected = "a number of requests per s, m, h or d, at most " + RateLimit.MAX_REQUESTS
                + ", and optionally a smaller burst, and"
                + " whose requests count together: by client, by route, or by the name of a header, such as 600/m burst"
                + " 50 by x-api-key";
        return single("N/m [burst N] [by client|route|NAME]", expected, text -> {
                    Phrase phrase = Phrase.parse(text, "burst", "by");
                    Matcher rate = RATE.matcher(phrase.first);
                    require(rate.matches());
                    int requests = ValueType.number(rate.group(1), 1, RateLimit.MAX_REQUESTS);
                    RateLimit limit = RateLimit.of(requests, SettingText.duration("1" + rate.group(2)));
                    int burst = phrase.value("burst", number -> ValueType.number(number, 1, requests), requests);
                    String key = phrase.value("by", HttpValueTypes::requestHeader, "client");
                    return switch (key) {
                        case "client" -> limit.burst(burst);
                        case "route" -> limit.burst(burst).perRoute();
                        default -> limit.burst(burst).perHeader(key);
                    };
                })
                .orOff();
    }

    static ValueType<Optional<Tenants>> tenants() {
        String expected = HttpValueTypes.requestHeaderName().expected()
                + ", and optionally the number of each tenant's requests, such as x-tenant max-requests 20";
        return single("NAME [max-requests N]", expected, text -> {
                    Phrase phrase = Phrase.parse(text, "max-requests");
                    return new Tenants(
                            HttpValueTypes.requestHeader(phrase.first),
                            phrase.value("max-requests", number -> ValueType.number(number, 1, MOST_REQUESTS), 0));
                })
                .orOff();
    }

    static ValueType<RequestPriority> priority() {
        ValueType<Priority> priorities = ValueType.choice(Priority.class);
        String expected = priorities.expected() + ", and optionally a header that says it instead, such as normal by"
                + " x-priority";
        return single(priorities.label() + " [by NAME]", expected, text -> {
            Phrase phrase = Phrase.parse(text, "by");
            String header = phrase.values.get("by");
            return new RequestPriority(
                    priorities.parser().apply(List.of(phrase.first)),
                    header == null ? null : HttpValueTypes.requestHeader(header));
        });
    }

    static ValueType<Optional<CircuitBreaker>> circuitBreaker() {
        String expected = "1% to 100% of the requests, and optionally a time after which one is slow, and for how long"
                + " it is open, from 100ms to 1h, such as 50% slow 500ms open 5s";
        return single(
                        "N% [slow TIME] [open TIME]",
                        expected, text -> {
                            Phrase phrase = Phrase.parse(text, "slow", "open");
                            Duration open = phrase.value("open", SettingText::duration, Duration.ofSeconds(5));
                            require(open.compareTo(BreakerPolicy.MIN_OPEN) >= 0
                                    && open.compareTo(BreakerPolicy.MAX_OPEN) <= 0);
                            Duration slow = phrase.value("slow", ValueType::parsePositiveDuration, Duration.ZERO);
                            return new CircuitBreaker(ValueType.parsePercent(phrase.first, 1, 100), slow, open);
                        })
                .orOff();
    }

    /** What an alias's new version does to the workers, and how often the alias is looked at. */
    static ValueType<Rollout> rollout() {
        String expected = "fast, careful, or rising shares of the workers from 1% to 100% and the time of each, such as"
                + " 10% 50% for 5m, and optionally how often the alias is looked at, such as fast poll 30s";
        return single(
                        "fast|careful|N%... for TIME [poll TIME]",
                        expected, text -> {
                            Matcher matcher = ROLLOUT.matcher(text);
                            require(matcher.matches());
                            String poll = matcher.group(4);
                            return new Rollout(
                                    policy(matcher), poll == null ? POLL : ValueType.parsePositiveDuration(poll));
                        })
                .orOff(new Rollout(RolloutPolicy.OFF, POLL));
    }

    private static RolloutPolicy policy(Matcher rollout) {
        if (rollout.group(1) != null) {
            return rollout.group(1).equals("fast") ? RolloutPolicy.FAST : RolloutPolicy.CAREFUL;
        }
        return new RolloutPolicy(
                SPACES.splitAsStream(rollout.group(2))
                        .map(step -> ValueType.parsePercent(step, 1, 100))
                        .toList(),
                SettingText.duration(rollout.group(3)));
    }

    static ValueType<Optional<Spillover>> spillover() {
        String expected =
                "a duration of at least 10ms, and optionally the name or ARN of a Lambda function, such as 1s or"
                        + " 1s to my-function:live";
        return single("TIME [to LAMBDA]", expected, text -> {
                    Matcher matcher = SPILLOVER.matcher(text);
                    require(matcher.matches());
                    Duration after = SettingText.duration(matcher.group(1));
                    String lambda = matcher.group(2);
                    require(after.compareTo(DirectOptions.MIN_SPILLOVER_AFTER) >= 0);
                    require(lambda == null || FunctionName.isOne(lambda));
                    return new Spillover(after, lambda);
                })
                .orOff();
    }

    /** The concurrency of a worker, or {@code auto} as an empty value. */
    static ValueType<Optional<Concurrency>> concurrency() {
        String expected =
                "auto, or a number of requests, and optionally 1 to " + FunctionOptions.MAX_CONNECTIONS_PER_WORKER
                        + " connections that share them, each an equal part of at most "
                        + FunctionOptions.MAX_STREAMS_PER_CONNECTION + ", such as 20 or 200 connections 4";
        return single("auto|N [connections N]", expected, text -> {
            if (text.equals("auto")) {
                return Optional.empty();
            }
            Phrase phrase = Phrase.parse(text, "connections");
            int connections = phrase.value(
                    "connections",
                    number -> ValueType.number(number, 1, FunctionOptions.MAX_CONNECTIONS_PER_WORKER),
                    1);
            int requests = ValueType.number(phrase.first, 1, connections * FunctionOptions.MAX_STREAMS_PER_CONNECTION);
            require(requests % connections == 0);
            return Optional.of(new Concurrency(connections, requests / connections));
        });
    }

    /** The minimum at all times, and larger ones at certain times. */
    static ValueType<MinWorkers> minWorkers() {
        return new ValueType<>(
                "N[; N at CRON for TIME in ZONE]...",
                "a whole number from 0 to " + CapacityPolicy.MAX_WORKERS + ", and optionally, each after a semicolon, "
                        + WorkerSchedule.EXPECTED,
                items -> {
                    require(!items.isEmpty());
                    return new MinWorkers(
                            ValueType.number(items.get(0), 0, CapacityPolicy.MAX_WORKERS),
                            WorkerSchedule.parse(items.subList(1, items.size())));
                },
                SEMICOLONS);
    }

    static ValueType<Downstream> downstream() {
        String expected =
                "a number from 1 to 100000000, and optionally how many of them each worker needs at least, such"
                        + " as 200 or 200 per-worker 5";
        return single("N [per-worker N]", expected, text -> {
                    Phrase phrase = Phrase.parse(text, "per-worker");
                    return new Downstream(
                            ValueType.number(phrase.first, 1, 100_000_000),
                            phrase.value("per-worker", number -> ValueType.number(number, 1, 1_000_000), 1));
                })
                .orOff(new Downstream(0, 1));
    }

    static ValueType<KeepAlive> keepAlive() {
        String expected =
                "a positive duration, and optionally how long an answer may take, both at most 24d, such as 2s or"
                        + " 2s timeout 3s";
        return single("TIME [timeout TIME]", expected, text -> {
            Phrase phrase = Phrase.parse(text, "timeout");
            Duration interval = ValueType.parsePositiveDuration(phrase.first);
            Duration timeout = phrase.value("timeout", ValueType::parsePositiveDuration, Duration.ofSeconds(3));
            require(interval.compareTo(LONGEST_PING) <= 0 && timeout.compareTo(LONGEST_PING) <= 0);
            return new KeepAlive(interval, timeout);
        });
    }

    static ValueType<MaxConnections> maxConnections() {
        String expected = "a whole number from 1 to " + HttpLimits.MAX_CONNECTIONS
                + ", and optionally how many of them one address may have, such as" + " 10000 or 10000 per-address 100";
        return single("N [per-address N]", expected, text -> {
            Phrase phrase = Phrase.parse(text, "per-address");
            int all = ValueType.number(phrase.first, 1, HttpLimits.MAX_CONNECTIONS);
            int half = Math.max(1, all / 2);
            return new MaxConnections(
                    all, phrase.value("per-address", number -> ValueType.number(number, 1, all), half));
        });
    }

    /** The headers that tell an application about its client. */
    static ValueType<ForwardingHeaders> forwardingHeaders() {
        Set<String> known = Set.of("x-forwarded", "forwarded", "via");
        return new ValueType<>(
                        "HEADERS...",
                        "one or more of x-forwarded, forwarded, via, each at most once",
                        items -> {
                            Set<String> headers = new HashSet<>(items);
                            require(!items.isEmpty() && headers.size() == items.size() && known.containsAll(headers));
                            boolean via = headers.remove("via");
                            return new ForwardingHeaders(
                                    switch (headers.size()) {
                                        case 0 -> ForwardingPolicy.Headers.NONE;
                                        case 1 ->
                                            headers.contains("forwarded")
                                                    ? ForwardingPolicy.Headers.FORWARDED
                                                    : ForwardingPolicy.Headers.X_FORWARDED;
                                        default -> ForwardingPolicy.Headers.BOTH;
                                    },
                                    via);
                        },
                        ValueType.COMMAS)
                .orOff(new ForwardingHeaders(ForwardingPolicy.Headers.NONE, false));
    }
}
