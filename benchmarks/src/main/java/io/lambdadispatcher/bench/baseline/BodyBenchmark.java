package io.lambdadispatcher.bench.baseline;

import io.lambdadispatcher.bench.Measured;
import io.lambdadispatcher.wire.FrameReader;
import io.lambdadispatcher.wire.FrameType;
import io.lambdadispatcher.wire.FrameWriter;
import io.lambdadispatcher.wire.WireException;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.Unpooled;
import java.util.Base64;
import java.util.Random;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;

/**
 * A body from one end to the other: framed and passed by reference as a worker stream does it, or in base64 as a Lambda event has to
 * have it. A first cut: the base64 side leaves out JSON, the framed side HTTP/2.
 */
@State(Scope.Thread)
public class BodyBenchmark extends Measured implements FrameReader.Listener {
    /** What one read of a socket commonly brings. */
    private static final int READ_BYTES = 64 * 1024;

    @Param({"4", "168161"})
    public int bodyBytes;

    private byte[] array = {};
    private ByteBuf body = Unpooled.EMPTY_BUFFER;
    private ByteBuf header = Unpooled.EMPTY_BUFFER;
    private final FrameReader reader = FrameReader.ofWorkerStream(ByteBufAllocator.DEFAULT, this);
    private int seenBytes;

    @Setup
    public void prepare() {
        array = new byte[bodyBytes];
        new Random(bodyBytes).nextBytes(array);
        body = Unpooled.directBuffer(bodyBytes).writeBytes(array);
        header = Unpooled.directBuffer(64);
    }

    @TearDown
    public void release() {
        reader.close();
        header.release();
        body.release();
    }

    @Benchmark
    public int raw() throws WireException {
        body.readerIndex(0);
        while (body.isReadable()) {
            ByteBuf read = body.readSlice(Math.min(READ_BYTES, body.readableBytes()));
            FrameWriter.writeDataHeader(header.clear(), read.readableBytes(), !body.isReadable());
            reader.read(header);
            reader.read(read);
        }
        return seenBytes;
    }

    @Benchmark
    public byte[] base64() {
        return Base64.getDecoder().decode(Base64.getEncoder().encode(array));
    }

    @Override
    public void onData(ByteBuf part, boolean end) {
        seenBytes += part.readableBytes();
        part.release();
    }

    @Override
    public void onFrame(FrameType type, ByteBuf payload, boolean end, long offset) {
        throw new IllegalStateException(type + " frame, expected DATA");
    }
}
