package io.lambdadispatcher.wire.worker;

import io.lambdadispatcher.wire.worker.ControlCodec.Role;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import io.netty.buffer.UnpooledByteBufAllocator;
import io.netty.handler.codec.http2.Http2Headers;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.stream.Collectors;
import java.util.stream.StreamSupport;
import org.jspecify.annotations.Nullable;

/**
 * Reads a stream and writes down what it sees in the words of {@code vectors/README.md}. One for
 * each stream read.
 */
final class EventLog implements FrameReader.Listener, AutoCloseable {
    private final List<String> events = new ArrayList<>();
    private final HeadDecoder decoder = new HeadDecoder();
    private final @Nullable ControlCodec codec;
    private final FrameReader reader;

    /** What is seen, written again. */
    private final ByteBuf rewritten = Unpooled.buffer();

    private final @Nullable ControlCodec rewriter;
    private boolean dataOpen;
    private long dataBytes;

    /** @param on as in a vector's line */
    EventLog(String on) {
        String[] words = on.split(" ");
        if (words.length == 3) {
            Role writer = Role.valueOf(words[1].toUpperCase(Locale.ROOT));
            codec = new ControlCodec(writer == Role.WORKER ? Role.DISPATCHER : Role.WORKER, words[2]);
            rewriter = new ControlCodec(writer, words[2]);
        } else {
            codec = null;
            rewriter = null;
        }
        reader = words[0].equals("control-stream")
                ? FrameReader.ofControlStream(UnpooledByteBufAllocator.DEFAULT, this)
                : FrameReader.ofWorkerStream(UnpooledByteBufAllocator.DEFAULT, this);
    }

    FrameReader reader() {
        return reader;
    }

    /** Bytes of DATA payloads so far. */
    long dataBytes() {
        return dataBytes;
    }

    List<String> events() {
        return events;
    }

    byte[] rewritten() {
        return ByteBufUtil.getBytes(rewritten);
    }

    @Override
    public void onData(ByteBuf part, boolean end) {
        dataBytes += part.readableBytes();
        String hex = ByteBufUtil.hexDump(part);
        FrameWriter.writeDataHeader(rewritten, part.readableBytes(), end);
        rewritten.writeBytes(part);
        part.release();
        int last = events.size() - 1;
        String before = dataOpen ? events.remove(last).substring("DATA ".length()) : "";
        events.add(((end ? "DATA end " : "DATA ") + before + hex).stripTrailing());
        if (!end && (before + hex).isEmpty()) {
            events.remove(events.size() - 1);
        } else {
            dataOpen = !end;
        }
    }

    @Override
    public void onFrame(FrameType type, ByteBuf payload, boolean end, long offset) throws WireException {
        dataOpen = false;
        String what = type + (end ? " end" : "");
        switch (type) {
            case REQUEST_HEAD -> events.add(what + " timeout=" + payload.readUnsignedInt() + fields(payload, offset));
            case RESPONSE_HEAD, INTERIM, TRAILERS -> events.add(what + fields(payload, offset));
            case RESET -> onReset(ErrorCode.ofCode(payload.readInt()), payload.toString(StandardCharsets.UTF_8));
            case TIMING -> onTiming(payload.readUnsignedInt(), payload.readUnsignedInt());
            case CANCEL -> onCancel(ErrorCode.ofCode(payload.readInt()));
            default -> onControl(type, payload, offset);
        }
    }

    private String fields(ByteBuf block, long offset) throws WireException {
        Http2Headers head = decoder.decode(block, offset);
        return " fields="
                + StreamSupport.stream(head.spliterator(), false)
                        .map(field -> field.getKey() + ": " + field.getValue())
                        .collect(Collectors.joining("|"));
    }

    private void onReset(ErrorCode code, String text) {
        events.add(("RESET " + code + " " + text).stripTrailing());
        FrameWriter.writeReset(rewritten, code, text);
    }

    private void onCancel(ErrorCode code) {
        events.add("CANCEL " + code);
        FrameWriter.writeCancel(rewritten, code);
    }

    private void onTiming(long waitMicros, long handlerMicros) {
        events.add("TIMING wait=" + waitMicros + " handler=" + handlerMicros);
        FrameWriter.writeTiming(rewritten, waitMicros, handlerMicros);
    }

    private void onControl(FrameType type, ByteBuf payload, long offset) throws WireException {
        if (codec == null || rewriter == null) {
            throw new AssertionError(type + " passed the reader");
        }
        ControlMessage message = codec.read(type, payload, offset);
        events.add(message.toString());
        rewriter.write(rewritten, message);
    }

    @Override
    public void close() {
        reader.close();
        rewritten.release();
    }
}
