package io.lambdadispatcher.bench.stream;

import io.lambdadispatcher.bench.Heads;
import io.lambdadispatcher.bench.Measured;
import io.lambdadispatcher.wire.FrameLayout;
import io.lambdadispatcher.wire.FrameReader;
import io.lambdadispatcher.wire.FrameType;
import io.lambdadispatcher.wire.FrameWriter;
import io.lambdadispatcher.wire.HeadDecoder;
import io.lambdadispatcher.wire.HeadEncoder;
import io.lambdadispatcher.wire.WireException;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.Unpooled;
import io.netty.handler.codec.http2.Http2Headers;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.infra.Blackhole;

/** A {@code /ping} on a worker stream that has carried many: what both ends do for it above HTTP/2. */
@State(Scope.Thread)
public class PingExchangeBenchmark extends Measured {
    private static final int TIMEOUT_MILLIS = 900_000;
    private static final int BODY_BYTES = 4;

    private final Http2Headers requestHead = Heads.request();
    private final Http2Headers responseHead = Heads.response();
    private final HeadEncoder requestEncoder = new HeadEncoder();
    private final HeadEncoder responseEncoder = new HeadEncoder();
    private final Receiver worker = new Receiver();
    private final Receiver dispatcher = new Receiver();
    private ByteBuf octets = Unpooled.EMPTY_BUFFER;

    @Setup
    public void prepare() {
        octets = Unpooled.directBuffer(4096);
    }

    @TearDown
    public void release() {
        worker.reader.close();
        dispatcher.reader.close();
        octets.release();
    }

    @Benchmark
    public void exchange(Blackhole hole) throws WireException {
        FrameWriter.writeRequestHead(octets.clear(), requestEncoder, requestHead, TIMEOUT_MILLIS, true);
        worker.reader.read(octets);
        hole.consume(worker.head);
        FrameWriter.writeResponseHead(octets.clear(), responseEncoder, responseHead, false);
        FrameWriter.writeDataHeader(octets, BODY_BYTES, true);
        octets.writeInt(BODY_BYTES);
        dispatcher.reader.read(octets);
        hole.consume(dispatcher.head);
    }

    /** One end's view of the other's frames. */
    private static final class Receiver implements FrameReader.Listener {
        final FrameReader reader = FrameReader.ofWorkerStream(ByteBufAllocator.DEFAULT, this);
        private final HeadDecoder decoder = new HeadDecoder();
        private Http2Headers head = Heads.response();

        @Override
        public void onData(ByteBuf part, boolean end) {
            part.release();
        }

        @Override
        public void onFrame(FrameType type, ByteBuf payload, boolean end, long offset) throws WireException {
            if (type == FrameType.REQUEST_HEAD) {
                payload.skipBytes(FrameLayout.TIMEOUT_BYTES);
            }
            head = decoder.decode(payload, offset);
        }
    }
}
