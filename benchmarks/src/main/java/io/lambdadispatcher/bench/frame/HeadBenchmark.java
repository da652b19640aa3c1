package io.lambdadispatcher.bench.frame;

import io.lambdadispatcher.wire.worker.FrameLayout;
import io.lambdadispatcher.wire.worker.FrameWriter;
import io.lambdadispatcher.wire.worker.HeadDecoder;
import io.lambdadispatcher.wire.worker.HeadEncoder;
import io.lambdadispatcher.wire.worker.WireException;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.handler.codec.http2.Http2Headers;
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

/** Measures request headers: the first on a stream, and later ones that HPACK's table knows. */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
public class HeadBenchmark {
    private static final int BLOCK_OFFSET = FrameLayout.HEADER_BYTES + FrameLayout.TIMEOUT_BYTES;
    private static final int TIMEOUT_MILLIS = 900_000;

    @Param
    public Heads heads = Heads.BROWSER;

    private final HeadEncoder knownEncoder = new HeadEncoder();
    private final HeadDecoder knownDecoder = new HeadDecoder();
    private Http2Headers head = heads.request();
    private ByteBuf out = Unpooled.EMPTY_BUFFER;
    private ByteBuf firstBlock = Unpooled.EMPTY_BUFFER;
    private ByteBuf repeatedBlock = Unpooled.EMPTY_BUFFER;

    @Setup
    public void prepare() throws WireException {
        head = heads.request();
        out = Unpooled.directBuffer(4096);
        firstBlock = block();
        repeatedBlock = block();
        knownDecoder.decode(firstBlock.duplicate(), 0);
    }

    private ByteBuf block() throws WireException {
        FrameWriter.writeRequestHead(out.clear(), knownEncoder, head, TIMEOUT_MILLIS, true);
        return out.copy(BLOCK_OFFSET, out.writerIndex() - BLOCK_OFFSET);
    }

    @TearDown
    public void release() {
        out.release();
        firstBlock.release();
        repeatedBlock.release();
    }

    @Benchmark
    public int encodeFirst() throws WireException {
        FrameWriter.writeRequestHead(out.clear(), new HeadEncoder(), head, TIMEOUT_MILLIS, true);
        return out.writerIndex();
    }

    @Benchmark
    public int encodeRepeated() throws WireException {
        FrameWriter.writeRequestHead(out.clear(), knownEncoder, head, TIMEOUT_MILLIS, true);
        return out.writerIndex();
    }

    @Benchmark
    public Http2Headers decodeFirst() throws WireException {
        return new HeadDecoder().decode(firstBlock.readerIndex(0), 0);
    }

    @Benchmark
    public Http2Headers decodeRepeated() throws WireException {
        return knownDecoder.decode(repeatedBlock.readerIndex(0), 0);
    }
}
