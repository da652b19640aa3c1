package io.lambdadispatcher.core.internal.exchange;

import io.lambdadispatcher.core.internal.pool.PoolShard;
import io.lambdadispatcher.core.internal.pool.PooledConnection;
import io.lambdadispatcher.wire.worker.ErrorCode;
import io.lambdadispatcher.wire.worker.FrameLayout;
import io.lambdadispatcher.wire.worker.FrameReader;
import io.lambdadispatcher.wire.worker.FrameType;
import io.lambdadispatcher.wire.worker.FrameWriter;
import io.lambdadispatcher.wire.worker.HeadDecoder;
import io.lambdadispatcher.wire.worker.HeadEncoder;
import io.lambdadispatcher.wire.worker.WireException;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.util.AsciiString;
import org.jspecify.annotations.Nullable;

/**
 * Both ends of a worker stream without a network: one end writes each frame and the other end reads
 * it. The worker echoes the body. This class replaces the dispatcher's worker stream, which does
 * the same over HTTP/2. Payloads are passed by reference.
 *
 * <p><i>Threading:</i> one thread.
 */
final class FramedStream implements Carrier, RequestSink {
    private static final int HEAD_FRAME_BYTES = 512;
    private static final AsciiString OK = AsciiString.cached("200");

    /** One end of the stream. It writes frames that the other end reads. */
    private abstract static class End implements FrameReader.Listener {
        final HeadEncoder encoder = new HeadEncoder();
        final HeadDecoder decoder = new HeadDecoder();
        final FrameReader reader = FrameReader.ofWorkerStream(ByteBufAllocator.DEFAULT, this);

        @Override
        public final void onFrame(FrameType type, ByteBuf payload, boolean end, long offset) throws WireException {
            if (type == FrameType.REQUEST_HEAD) {
                payload.skipBytes(FrameLayout.TIMEOUT_BYTES);
            }
            onHead(decoder.decode(payload, offset), end);
        }

        abstract void onHead(Http2Headers head, boolean end) throws WireException;

        /** Sends a part of a body, and takes ownership of it. */
        final void sendData(ByteBuf part, boolean end) throws WireException {
            ByteBuf header = ByteBufAllocator.DEFAULT.directBuffer(FrameLayout.HEADER_BYTES);
            FrameWriter.writeDataHeader(header, part.readableBytes(), end);
            send(header);
            send(part);
        }

        final void send(ByteBuf content) throws WireException {
            try {
                other().reader.read(content);
            } finally {
                content.release();
            }
        }

        abstract End other();
    }

    private final PoolShard shard;
    private final PooledConnection member;
    private final DispatcherEnd dispatcher = new DispatcherEnd();
    private final WorkerEnd worker = new WorkerEnd();
    private @Nullable Attempt attempt;

    FramedStream(PoolShard shard, PooledConnection member) {
        this.shard = shard;
        this.member = member;
    }

    @Override
    public RequestSink carry(Http2Headers head, boolean end, int timeoutMillis, Attempt forAttempt) {
        attempt = forAttempt;
        try {
            ByteBuf frame = ByteBufAllocator.DEFAULT.directBuffer(HEAD_FRAME_BYTES);
            FrameWriter.writeRequestHead(frame, dispatcher.encoder, head, timeoutMillis, end);
            dispatcher.send(frame);
        } catch (WireException e) {
            throw new IllegalStateException(e);
        }
        return this;
    }

    @Override
    public void data(ByteBuf data, boolean end) {
        try {
            dispatcher.sendData(data, end);
        } catch (WireException e) {
            throw new IllegalStateException(e);
        }
    }

    @Override
    public void trailers(Http2Headers trailers) {
        throw new UnsupportedOperationException("trailers " + trailers + ", expected none");
    }

    @Override
    public void cancel(ErrorCode code) {
        throw new UnsupportedOperationException("cancelled with " + code + ", expected the exchange to end");
    }

    @Override
    public void responseTaken(int bytes) {}

    @Override
    public String workerId() {
        return member.workerId();
    }

    private final class DispatcherEnd extends End {
        @Override
        void onHead(Http2Headers head, boolean end) {
            Attempt current = current();
            endIf(end);
            current.onHead(head, end);
        }

        @Override
        public void onData(ByteBuf part, boolean end) {
            Attempt current = current();
            endIf(end);
            current.onData(part, end);
        }

        private void endIf(boolean end) {
            if (end) {
                attempt = null;
                shard.workers().onStreamFree(member, FramedStream.this);
            }
        }

        private Attempt current() {
            if (attempt == null) {
                throw new IllegalStateException("a response without a request");
            }
            return attempt;
        }

        @Override
        End other() {
            return worker;
        }
    }

    private final class WorkerEnd extends End {
        @Override
        void onHead(Http2Headers head, boolean end) throws WireException {
            Http2Headers response = new DefaultHttp2Headers(false)
                    .status(OK)
                    .set(HttpHeaderNames.CONTENT_TYPE, head.get(HttpHeaderNames.CONTENT_TYPE))
                    .set(HttpHeaderNames.CONTENT_LENGTH, head.get(HttpHeaderNames.CONTENT_LENGTH));
            ByteBuf frame = ByteBufAllocator.DEFAULT.directBuffer(HEAD_FRAME_BYTES);
            FrameWriter.writeResponseHead(frame, encoder, response, end);
            send(frame);
        }

        @Override
        public void onData(ByteBuf part, boolean end) throws WireException {
            sendData(part, end);
        }

        @Override
        End other() {
            return dispatcher;
        }
    }
}
