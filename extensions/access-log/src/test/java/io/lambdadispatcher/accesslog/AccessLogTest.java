package io.lambdadispatcher.accesslog;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Level;
import io.lambdadispatcher.core.observe.ClientProtocol;
import io.lambdadispatcher.core.observe.ExchangeEnd;
import io.lambdadispatcher.core.observe.Outcome;
import io.lambdadispatcher.core.observe.SessionResult;
import io.lambdadispatcher.core.observe.WaitReason;
import io.lambdadispatcher.core.observe.WorkerKind;
import io.lambdadispatcher.wire.testkit.Await;
import io.lambdadispatcher.wire.testkit.LoggedLines;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.Http2Headers;
import java.io.IOException;
import java.lang.reflect.Proxy;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

class AccessLogTest {
    private static final long TIME = Instant.parse("2026-11-21T10:15:30.123Z").toEpochMilli();

    private record Ended(
            @Nullable String function,
            @Nullable String workerId,
            String method,
            String path,
            int status,
            Outcome outcome,
            @Nullable String failure,
            long requestBytes,
            long responseBytes,
            long queueNanos,
            long totalNanos,
            int attempts)
            implements ExchangeEnd {
        @Override
        public Http2Headers headers() {
            return new DefaultHttp2Headers(false).method(method).path(path);
        }

        @Override
        public @Nullable WorkerKind workerKind() {
            return workerId == null ? null : WorkerKind.BASE;
        }

        @Override
        public @Nullable String contentEncoding() {
            return path.equals("/compressed") ? "br" : null;
        }

        @Override
        public @Nullable String failureDetail() {
            return failure == null ? null : "no function matches " + path;
        }
    }

    private static ExchangeEnd end(String path) {
        return new Ended("api", "w-1", "GET", path, 200, Outcome.COMPLETED, null, 0, 4, 3_000, 412_000, 1);
    }

    private static ExchangeEnd failed() {
        return new Ended(null, null, "GET", "/", 404, Outcome.FAILED, "no_function", 0, 0, 0, 5_000, 0);
    }

    private static String line(ExchangeEnd end, long time) {
        return new AccessLine(List.of(AccessField.values()), "x-request-id").of(end, time);
    }

    @Test
    void should_write_one_json_object() {
        assertThat(line(end("/ping?x=1"), TIME))
                .isEqualTo(
                        "{\"time\":\"2026-11-21T10:15:30.123Z\",\"function\":\"api\",\"worker\":\"w-1\",\"worker_kind\":\"base\","
                                + "\"protocol\":\"embedded\",\"method\":\"GET\",\"path\":\"/ping?x=1\",\"status\":200,\"outcome\":\"completed\","
                                + "\"request_bytes\":0,\"response_bytes\":4,\"queue_us\":3,\"worker_us\":409,\"total_us\":412,\"attempts\":1}");
    }

    @Test
    void should_say_how_a_response_was_compressed() {
        assertThat(line(end("/compressed"), TIME)).contains(",\"content_encoding\":\"br\",");
    }

    @Test
    void should_leave_out_what_is_not_there() {
        assertThat(line(failed(), TIME))
                .contains("\"failure\":\"no_function\",\"failure_detail\":\"no function matches /\"")
                .doesNotContain("\"function\"")
                .doesNotContain("worker");
    }

    @Test
    void should_write_nothing_but_printable_ascii_whatever_the_client_sends() {
        String hostile = "/\"}\n{\"path\":\"\r\0\t\u001b[31m\\\u007f\u0085\u2028\u00e4\ud83d\ude00\ud83d";

        String line = line(end(hostile), TIME);

        assertThat(line).matches("[ -~]+");
        JsonNode parsed = JsonMapper.shared().readTree(line);
        assertThat(parsed.get("path").stringValue()).isEqualTo(hostile);
        assertThat(parsed.size()).isEqualTo(15);
    }

    @Test
    void should_cut_endless_paths() {
        String line = line(end("/" + "a".repeat(100_000)), TIME);

        assertThat(line.length()).isLessThan(AccessLine.MAX_TEXT_CHARS + 400);
        assertThat(JsonMapper.shared().readTree(line).get("path").stringValue()).endsWith("aaa...");
    }

    @Test
    void should_write_everything_that_waits_before_it_is_closed() {
        LoggedLines log = LoggedLines.of(AccessLog.LOGGER, Level.INFO);
        AccessLog accessLog = AccessLog.builder().queueLimit(1024).start();
        for (int i = 0; i < 500; i++) {
            accessLog.onExchangeStart(null).onEnd(end("/" + i));
        }
        accessLog.close();
        log.close();

        assertThat(log.messages()).hasSize(500).last().asString().contains("\"path\":\"/499\"");
        assertThat(accessLog.dropped()).isZero();
    }

    @Test
    void should_count_what_it_drops() {
        AccessLog accessLog = AccessLog.builder().queueLimit(1).start();
        accessLog.close();

        accessLog.onExchangeStart(null).onEnd(end("/late"));

        assertThat(accessLog.dropped()).isEqualTo(1);
    }

    @Test
    void should_write_all_fields_of_a_traced_request() {
        ExchangeEnd end = new ExchangeEnd() {
            @Override
            public String function() {
                return "api";
            }

            @Override
            public String workerId() {
                return "w-1";
            }

            @Override
            public Http2Headers headers() {
                return new DefaultHttp2Headers()
                        .method("POST")
                        .path("/orders")
                        .authority("shop.example.org")
                        .add("user-agent", "curl/8")
                        .add("x-forwarded-for", "192.0.2.7, 10.0.0.1")
                        .add("x-forwarded-client-cert", "Hash=1f")
                        .add("x-request-id", "r-1")
                        .add("traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01");
            }

            @Override
            public SocketAddress remoteAddress() {
                return new InetSocketAddress("10.0.0.1", 4711);
            }

            @Override
            public ClientProtocol protocol() {
                return ClientProtocol.HTTP_2;
            }

            @Override
            public int status() {
                return 201;
            }

            @Override
            public Outcome outcome() {
                return Outcome.COMPLETED;
            }

            @Override
            public @Nullable String failure() {
                return null;
            }

            @Override
            public WaitReason waitReason() {
                return WaitReason.MAX_WORKERS;
            }

            @Override
            public SessionResult sessionResult() {
                return SessionResult.WORKER_GONE;
            }

            @Override
            public long requestBytes() {
                return 10;
            }

            @Override
            public long responseBytes() {
                return 20;
            }

            @Override
            public long queueNanos() {
                return 1_000_000;
            }

            @Override
            public long firstByteNanos() {
                return 3_000_000;
            }

            @Override
            public long totalNanos() {
                return 5_000_000;
            }

            @Override
            public long handlerNanos() {
                return 3_500_000;
            }

            @Override
            public int attempts() {
                return 2;
            }
        };

        assertThat(line(end, TIME))
                .isEqualTo("{\"time\":\"2026-11-21T10:15:30.123Z\",\"function\":\"api\",\"worker\":\"w-1\","
                        + "\"client\":\"10.0.0.1\",\"client_certificate\":\"Hash=1f\",\"forwarded_for\":\"192.0.2.7, 10.0.0.1\",\"protocol\":\"h2\","
                        + "\"method\":\"POST\",\"host\":\"shop.example.org\",\"path\":\"/orders\",\"user_agent\":\"curl/8\","
                        + "\"status\":201,\"outcome\":\"completed\",\"wait_reason\":\"max_workers\",\"session\":\"worker_gone\",\"request_id\":\"r-1\","
                        + "\"trace_id\":\"4bf92f3577b34da6a3ce929d0e0e4736\",\"request_bytes\":10,\"response_bytes\":20,"
                        + "\"queue_us\":1000,\"first_byte_us\":3000,\"worker_us\":4000,\"handler_us\":3500,"
                        + "\"total_us\":5000,\"attempts\":2}");
    }

    @Test
    void should_write_only_the_chosen_fields_in_their_order() {
        AccessLine format = new AccessLine(List.of(AccessField.STATUS, AccessField.METHOD, AccessField.FAILURE), null);

        assertThat(format.of(end("/"), TIME)).isEqualTo("{\"status\":200,\"method\":\"GET\"}");
        assertThat(new AccessLine(List.of(AccessField.FAILURE), null).of(end("/"), TIME))
                .isEqualTo("{}");
    }

    @Test
    void should_keep_a_copy_of_the_end_for_the_thread_that_writes() {
        List<String> written = new CopyOnWriteArrayList<>();
        AccessLog accessLog = AccessLog.builder().writer(written::addAll).start();
        Thread eventLoop = Thread.currentThread();
        ExchangeEnd kept = end("/kept");
        ExchangeEnd end = (ExchangeEnd) Proxy.newProxyInstance(
                ExchangeEnd.class.getClassLoader(), new Class<?>[] {ExchangeEnd.class}, (self, method, args) -> {
                    assertThat(Thread.currentThread()).isSameAs(eventLoop);
                    return method.getName().equals("copy") ? kept : method.invoke(kept, args);
                });

        accessLog.onExchangeStart(null).onEnd(end);
        accessLog.close();

        assertThat(written).singleElement().asString().contains("/kept");
    }

    @Test
    void should_bound_the_memory_of_queued_lines() throws Exception {
        CountDownLatch mayWrite = new CountDownLatch(1);
        AtomicInteger written = new AtomicInteger();
        AccessLog accessLog = AccessLog.builder()
                .writer(lines -> {
                    try {
                        mayWrite.await();
                    } catch (InterruptedException e) {
                        throw new IOException(e);
                    }
                    written.addAndGet(lines.size());
                })
                .start();
        String path = "/" + "a".repeat(60_000);
        for (int i = 0; i < 5_000; i++) {
            accessLog.onExchangeStart(null).onEnd(end(path));
        }

        long kept = 5_000 - accessLog.dropped();
        assertThat(kept * 60_000).isBetween(30L << 20, 32L << 20);
        mayWrite.countDown();
        Await.until("all that were kept are written", () -> written.get() == kept);
        accessLog.onExchangeStart(null).onEnd(end(path));
        accessLog.close();
        assertThat(written).hasValue((int) kept + 1);
    }

    @Test
    void should_count_lines_that_cannot_be_written_and_continue() throws Exception {
        List<String> written = new ArrayList<>();
        boolean[] full = {true};
        AccessLog accessLog = AccessLog.builder()
                .writer(lines -> {
                    synchronized (written) {
                        if (full[0]) {
                            throw new IOException("No space left on device");
                        }
                        written.addAll(lines);
                    }
                })
                .start();
        for (int i = 0; i < 330; i++) {
            accessLog.onExchangeStart(null).onEnd(end("/lost"));
        }
        Await.until("all are dropped", () -> accessLog.dropped() == 330);
        synchronized (written) {
            full[0] = false;
        }
        accessLog.onExchangeStart(null).onEnd(end("/kept"));
        accessLog.close();

        assertThat(accessLog.dropped()).isEqualTo(330);
        assertThat(written).singleElement().asString().contains("/kept");
    }
}
