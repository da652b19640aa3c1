package io.lambdadispatcher.compression;

import io.lambdadispatcher.wire.http.ContentEncoder;
import io.lambdadispatcher.wire.http.GzipEncoder;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.nio.charset.StandardCharsets;
import java.util.Locale;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;

/**
 * Measures how long the event loop encodes a body of 64 KiB in frames of 16 KiB, with the encoder
 * that each response needs. It prints the size of the result at the end.
 */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.MICROSECONDS)
public class EncoderBenchmark {
    private static final int FRAME_BYTES = 16 * 1024;
    private static final String WORDS = "order customer street quantity delivered price euro warehouse pending invoice"
            + " the of and to in is that for with on as are this be at from or an was not which have by it";

    /** The encoding and the level. */
    @Param({"gzip1", "gzip2", "gzip4", "gzip6", "br1", "br2", "br4", "zstd1", "zstd3", "zstd6"})
    public String encoder = "";

    @Param({"json", "html", "random"})
    public String content = "";

    @Param({"65536", "4096"})
    public int bytes;

    private final ByteBuf out = Unpooled.directBuffer(2 * 65536);
    private ByteBuf body = Unpooled.EMPTY_BUFFER;

    @Setup
    public void prepare() {
        byte[] made = switch (content) {
            case "json" -> json();
            case "html" -> html();
            default -> random();
        };
        body = Unpooled.directBuffer(bytes).writeBytes(made, 0, bytes);
    }

    private byte[] random() {
        byte[] made = new byte[bytes];
        new Random(1).nextBytes(made);
        return made;
    }

    private static String words(Random random, int count) {
        String[] words = WORDS.split(" ");
        StringBuilder text = new StringBuilder();
        for (int i = 0; i < count; i++) {
            text.append(i == 0 ? "" : " ").append(words[(int) (words.length * Math.pow(random.nextDouble(), 1.5))]);
        }
        return text.toString();
    }

    /** A list of orders, as an API answers. */
    private byte[] json() {
        Random random = new Random(2);
        StringBuilder text = new StringBuilder("[");
        while (text.length() < bytes) {
            text.append(String.format(
                    Locale.ROOT,
                    "{\"id\":\"%08x-%04x\",\"customer\":\"%s\",\"quantity\":%d,\"price\":%.2f,\"note\":\"%s\"},",
                    random.nextInt(),
                    random.nextInt(65536),
                    words(random, 2),
                    random.nextInt(100),
                    random.nextDouble() * 1000,
                    words(random, 6)));
        }
        return text.toString().getBytes(StandardCharsets.US_ASCII);
    }

    private byte[] html() {
        Random random = new Random(3);
        StringBuilder text = new StringBuilder("<!doctype html><html><body>");
        while (text.length() < bytes) {
            text.append("<article class=\"entry\"><h2><a href=\"/entries/")
                    .append(random.nextInt(100_000))
                    .append("\">")
                    .append(words(random, 5))
                    .append("</a></h2>\n<p>")
                    .append(words(random, 60))
                    .append("</p></article>\n");
        }
        return text.toString().getBytes(StandardCharsets.US_ASCII);
    }

    private ContentEncoder newEncoder() {
        int level = encoder.charAt(encoder.length() - 1) - '0';
        return switch (encoder.charAt(0)) {
            case 'g' -> new GzipEncoder(level);
            case 'b' -> new BrotliEncoder(level, BrotliEncoder.WINDOW_BITS);
            default -> new ZstdEncoder(level, ZstdEncoder.WINDOW_BITS);
        };
    }

    @Benchmark
    public int encode() {
        out.clear();
        try (ContentEncoder codec = newEncoder()) {
            for (int at = 0; at < bytes; at += FRAME_BYTES) {
                int frame = Math.min(FRAME_BYTES, bytes - at);
                codec.encode(
                        body.slice(at, frame),
                        at + frame == bytes ? ContentEncoder.Mode.FINISH : ContentEncoder.Mode.GATHER,
                        out);
            }
        }
        return out.readableBytes();
    }

    @TearDown(Level.Trial)
    public void print() {
        System.out.printf(Locale.ROOT, "%s %s %d bytes -> %d bytes%n", encoder, content, bytes, out.readableBytes());
    }
}
