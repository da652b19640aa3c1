package io.lambdadispatcher.core.internal.filter;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.cache.CachePolicy;
import io.lambdadispatcher.cache.ClockedCache;
import io.lambdadispatcher.cache.HttpCache;
import io.lambdadispatcher.compression.CompressionPolicy;
import io.lambdadispatcher.compression.CompressionRig;
import io.lambdadispatcher.compression.ContentEncoding;
import io.lambdadispatcher.compression.ResponseCompression;
import io.lambdadispatcher.core.internal.exchange.DiscardingSink;
import io.lambdadispatcher.core.internal.exchange.Failure;
import io.lambdadispatcher.core.internal.exchange.FunctionOpener;
import io.lambdadispatcher.core.internal.exchange.RequestSink;
import io.lambdadispatcher.core.internal.exchange.ResponseSink;
import io.lambdadispatcher.core.options.TrafficPolicy;
import io.lambdadispatcher.core.testkit.RecordingObserver;
import io.lambdadispatcher.wire.http.FlatHeaders;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.embedded.EmbeddedChannel;
import io.netty.handler.codec.DateFormatter;
import io.netty.handler.codec.http2.Http2Headers;
import java.io.ByteArrayOutputStream;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Date;
import java.util.List;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * A model of a client that keeps what RFC 9110 and RFC 9111 let it keep, and combines what they let
 * it combine. Whatever it does, in front of whatever application, it must never believe to have a
 * representation whose bytes are not those of one version.
 */
class CompressionModelTest {
    private static final long EPOCH = 1_700_000_000_000L;
    private static final int STEPS = 4_000;
    private static final String[] ACCEPTED = {"", "identity", "gzip", "br", "br, gzip", "gzip;q=0.5, identity"};

    private final EmbeddedChannel loop = new EmbeddedChannel();
    private long nanos = TimeUnit.DAYS.toNanos(1);

    @AfterEach
    void close() {
        loop.finishAndReleaseAll();
    }

    private enum Validator {
        STRONG_TAG,
        WEAK_TAG,
        NONE
    }

    /** An application as RFC 9110 section 13.2.2 wants it, or one that compares less strictly. */
    private static final class Resource {
        final Validator validator;
        final boolean dated;
        final boolean lax;
        final boolean stored;
        final String type;
        final List<byte[]> versions = new ArrayList<>();

        Resource(Random random) {
            validator = Validator.values()[random.nextInt(3)];
            dated = random.nextBoolean();
            lax = random.nextBoolean();
            stored = random.nextBoolean();
            type = random.nextInt(4) == 0 ? "image/png" : "text/plain";
            change(random);
        }

        void change(Random random) {
            byte[] body = new byte[1 + random.nextInt(6000)];
            for (int i = 0; i < body.length; i++) {
                body[i] = (byte) ('a' + random.nextInt(4));
            }
            versions.add(body);
        }

        int current() {
            return versions.size() - 1;
        }

        String tag(int version) {
            return switch (validator) {
                case STRONG_TAG -> "\"v" + version + "\"";
                case WEAK_TAG -> "W/\"v" + version + "\"";
                case NONE -> null;
            };
        }

        String date(int version) {
            return dated ? DateFormatter.format(new Date(EPOCH + 1000L * version)) : null;
        }

        boolean lists(CharSequence tags, String tag, boolean strongly) {
            if (tag == null) {
                return false;
            }
            for (String each : tags.toString().split(",")) {
                String known = each.strip();
                boolean same = strongly && !lax
                        ? known.equals(tag) && !tag.startsWith("W/")
                        : known.replace("W/", "").equals(tag.replace("W/", ""));
                if (known.equals("*") || same) {
                    return true;
                }
            }
            return false;
        }

        void answer(Http2Headers request, ResponseSink response) {
            int version = current();
            byte[] body = versions.get(version);
            String tag = tag(version);
            String date = date(version);
            FlatHeaders head = new FlatHeaders();
            if (tag != null) {
                head.add("etag", tag);
            }
            if (date != null) {
                head.add("last-modified", date);
            }
            head.add("x-version", Integer.toString(version));
            CharSequence match = request.get("if-match");
            CharSequence unmodified = request.get("if-unmodified-since");
            CharSequence noneMatch = request.get("if-none-match");
            CharSequence modified = request.get("if-modified-since");
            if (match != null && !lists(match, tag, true)
                    || match == null && unmodified != null && date != null && !date.contentEquals(unmodified)) {
                head.status("412");
                response.onHead(head, true);
                return;
            }
            if (noneMatch != null
                    ? lists(noneMatch, tag, false)
                    : modified != null && date != null && date.contentEquals(modified)) {
                head.status("304");
                response.onHead(head, true);
                return;
            }
            head.add("content-type", type).add("accept-ranges", "bytes");
            if (stored) {
                head.add("cache-control", "public, max-age=5");
            }
            CharSequence range = request.get("range");
            CharSequence ifRange = request.get("if-range");
            boolean applies =
                    ifRange == null || lists(ifRange, tag, true) || date != null && date.contentEquals(ifRange);
            int from = 0;
            if (range != null && applies) {
                from = Integer.parseInt(range.toString().replaceAll("bytes=(\\d+)-", "$1"));
                if (from >= body.length) {
                    head.status("416").add("content-range", "bytes */" + body.length);
                    response.onHead(head, true);
                    return;
                }
                head.status("206");
                head.add("content-range", "bytes " + from + "-" + (body.length - 1) + "/" + body.length);
            } else {
                head.status("200");
            }
            byte[] sent = Arrays.copyOfRange(body, from, body.length);
            head.add("content-length", Integer.toString(sent.length));
            response.onHead(head, false);
            response.onData(Unpooled.wrappedBuffer(sent), true);
        }
    }

    private static final class Answer implements ResponseSink {
        Http2Headers head = new FlatHeaders();
        final ByteArrayOutputStream body = new ByteArrayOutputStream();
        boolean ended;

        @Override
        public void onInterim(Http2Headers fields) {}

        @Override
        public void onHead(Http2Headers fields, boolean end) {
            head = fields;
            ended = end;
        }

        @Override
        public void onData(ByteBuf data, boolean end) {
            byte[] bytes = new byte[data.readableBytes()];
            data.readBytes(bytes);
            data.release();
            body.writeBytes(bytes);
            ended = end;
        }

        @Override
        public void onTrailers(Http2Headers fields) {
            ended = true;
        }

        @Override
        public void onFailure(Failure failure) {
            throw new AssertionError(failure.detail());
        }

        @Override
        public void onRequestTaken(int bytes) {}

        String field(String name) {
            CharSequence value = head.get(name);
            return value == null ? "" : value.toString();
        }
    }

    /** What the client has of one response. */
    private static final class Copy {
        final int version;
        final String encoding;
        String tag;
        String date;
        byte[] bytes;
        boolean whole;

        Copy(Answer answer, int received) {
            version = Integer.parseInt(answer.field("x-version"));
            encoding = answer.field("content-encoding");
            tag = answer.field("etag");
            date = answer.field("last-modified");
            whole = received >= answer.body.size();
            bytes = Arrays.copyOf(answer.body.toByteArray(), received);
        }

        void verify(Resource resource, List<String> log) {
            if (whole) {
                byte[] decoded = encoding.isEmpty() ? bytes : CompressionRig.decode(encoding, bytes);
                assertThat(decoded).as("%s", log).isEqualTo(resource.versions.get(version));
            }
        }

        /** RFC 9110 section 15.3.7.3: the same strong validator. */
        boolean maybeJoined(Answer part) {
            String other = part.field("etag");
            return tag.isEmpty() && other.isEmpty()
                    ? !date.isEmpty() && date.equals(part.field("last-modified"))
                    : tag.startsWith("\"") && tag.equals(other);
        }
    }

    private Answer ask(FunctionOpener filter, TrafficPolicy policy, List<String> log, String... fields) {
        FlatHeaders head = new FlatHeaders();
        head.method("GET").scheme("https").authority("a").path("/");
        for (int i = 0; i < fields.length; i += 2) {
            if (!fields[i + 1].isEmpty()) {
                head.add(fields[i], fields[i + 1]);
            }
        }
        log.add(head.toString());
        Answer answer = new Answer();
        filter.open(head, true, answer, policy);
        loop.runPendingTasks();
        log.add(answer.head.toString());
        assertThat(answer.ended).isTrue();
        return answer;
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void should_never_let_a_client_join_bytes_of_two_representations(boolean stores) {
        Random random = new Random(40);
        int joined = 0;
        int confirmed = 0;
        for (int round = 0; round < STEPS / 20; round++) {
            Resource resource = new Resource(random);
            FunctionOpener application = new FunctionOpener() {
                @Override
                public RequestSink open(Http2Headers head, boolean end, ResponseSink response, TrafficPolicy policy) {
                    resource.answer(head, response);
                    return new DiscardingSink();
                }

                @Override
                public TrafficPolicy policy() {
                    return TrafficPolicy.NEUTRAL;
                }
            };
            RecordingObserver observer = new RecordingObserver();
            HttpCache cache = ClockedCache.of(() -> nanos, () -> EPOCH + nanos / 1_000_000);
            FunctionOpener filter = CompressionRig.behind(
                    List.of(new ResponseCompression(), cache), application, loop.eventLoop(), observer);
            TrafficPolicy.Builder traffic = TrafficPolicy.builder()
                    .extension(
                            CompressionPolicy.class,
                            CompressionPolicy.builder()
                                    .encodings(List.of(ContentEncoding.BR, ContentEncoding.GZIP))
                                    .minBytes(100)
                                    .build());
            TrafficPolicy policy = (stores
                            ? traffic.extension(
                                    CachePolicy.class, CachePolicy.builder("c").build())
                            : traffic)
                    .build();
            List<String> log = new ArrayList<>();
            Copy copy = null;
            for (int step = 0; step < 20; step++) {
                nanos += TimeUnit.SECONDS.toNanos(random.nextInt(4));
                if (random.nextInt(8) == 0) {
                    resource.change(random);
                }
                String accepted = ACCEPTED[random.nextInt(ACCEPTED.length)];
                Answer answer;
                if (copy == null || random.nextInt(4) == 0) {
                    answer = ask(filter, policy, log, "accept-encoding", accepted);
                } else if (copy.whole) {
                    boolean tagged = !copy.tag.isEmpty() && random.nextInt(4) > 0;
                    answer = ask(
                            filter,
                            policy,
                            log,
                            "accept-encoding",
                            accepted,
                            "if-none-match",
                            tagged ? copy.tag : "",
                            "if-modified-since",
                            copy.date);
                    // The client may have lost the encoding of its tag with the headers of a 304.
                    if (tagged
                            && copy.tag.contains(";")
                            && answer.field(":status").equals("304")) {
                        assertThat(accepted).as("%s", log).contains(copy.encoding);
                    }
                } else {
                    String from = "bytes=" + copy.bytes.length + "-";
                    boolean byTag = !copy.tag.isEmpty() && random.nextInt(3) > 0;
                    String condition = byTag ? copy.tag : copy.date;
                    // A client may also send the weak tag, which RFC 9110 does not allow it.
                    String name = switch (random.nextInt(4)) {
                        case 0 -> byTag ? "if-match" : "if-unmodified-since";
                        case 1 -> "x-no-condition";
                        default -> "if-range";
                    };
                    answer = ask(filter, policy, log, "accept-encoding", accepted, "range", from, name, condition);
                    boolean conditional = !name.equals("x-no-condition") && !condition.isEmpty();
                    if (answer.field(":status").equals("206") && (conditional || copy.maybeJoined(answer))) {
                        joined++;
                        ByteArrayOutputStream all = new ByteArrayOutputStream();
                        all.writeBytes(copy.bytes);
                        all.writeBytes(answer.body.toByteArray());
                        copy.bytes = all.toByteArray();
                        copy.whole = true;
                        copy.verify(resource, log);
                        continue;
                    }
                }
                switch (answer.field(":status")) {
                    case "200" -> {
                        boolean cut = random.nextBoolean();
                        int size = answer.body.size();
                        copy = new Copy(answer, cut ? random.nextInt(size) : size);
                        copy.verify(resource, log);
                    }
                    case "304" -> {
                        confirmed++;
                        // RFC 9111 section 3.2: the headers of the 304 replace those of the copy.
                        copy.tag = answer.head.contains("etag") ? answer.field("etag") : copy.tag;
                        copy.date = answer.head.contains("last-modified") ? answer.field("last-modified") : copy.date;
                        copy.verify(resource, log);
                    }
                    default -> copy = null;
                }
                if (copy != null && copy.whole && random.nextInt(3) == 0) {
                    copy.whole = false; // The end is lost again.
                    copy.bytes = Arrays.copyOf(copy.bytes, random.nextInt(copy.bytes.length));
                }
            }
        }
        assertThat(joined).isGreaterThan(20);
        assertThat(confirmed).isGreaterThan(100);
    }
}
