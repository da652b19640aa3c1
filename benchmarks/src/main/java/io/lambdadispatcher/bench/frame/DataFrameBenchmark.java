package io.lambdadispatcher.bench.frame;

import io.lambdadispatcher.wire.worker.FrameReader;
import io.lambdadispatcher.wire.worker.FrameType;
import io.lambdadispatcher.wire.worker.FrameWriter;
import io.lambdadispatcher.wire.worker.WireException;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.Unpooled;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;

/** Measures one DATA frame: writing its header, and reading it with its payload as a slice. */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
public class DataFrameBenchmark implements FrameReader.Listener {
    @Param({"4", "16384"})
    public int payloadBytes;

    private ByteBuf frame = Unpooled.EMPTY_BUFFER;
    private ByteBuf header = Unpooled.EMPTY_BUFFER;
    private FrameReader reader = FrameReader.ofWorkerStream(ByteBufAllocator.DEFAULT, this);
    private int seenBytes;

    @Setup
    public void prepare() {
        header = Unpooled.directBuffer(64);
        frame = Unpooled.directBuffer(payloadBytes + 64);
        FrameWriter.writeDataHeader(frame, payloadBytes, false);
        frame.writeZero(payloadBytes);
    }

    @TearDown
    public void release() {
        reader.close();
        header.release();
        frame.release();
    }

    @Benchmark
    public int writeHeader() {
        FrameWriter.writeDataHeader(header.clear(), payloadBytes, false);
        return header.writerIndex();
    }

    @Benchmark
    public int read() throws WireException {
        reader.read(frame.readerIndex(0));
        return seenBytes;
    }

    /**
     * Reads a frame in two parts, as it may arrive from a slow network. The first part is passed on
     * before the second part arrives.
     */
    @Benchmark
    public int readInTwoParts() throws WireException {
        int length = frame.writerIndex();
        reader.read(frame.readerIndex(0).writerIndex(length / 2));
        reader.read(frame.writerIndex(length));
        return seenBytes;
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
