package io.lambdadispatcher.bench.base64;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.Unpooled;
import io.netty.handler.codec.base64.Base64Dialect;
import org.openjdk.jmh.infra.Blackhole;
import software.amazon.awssdk.crt.utils.StringUtils;

/** Base64 codecs, each with the types that it works with. */
public enum Codec {
    /** HotSpot replaces its inner loops by vector instructions. */
    JDK {
        @Override
        void encode(byte[] bytes, Blackhole hole) {
            hole.consume(java.util.Base64.getEncoder().encode(bytes));
        }

        @Override
        void decode(byte[] base64, Blackhole hole) {
            hole.consume(java.util.Base64.getDecoder().decode(base64));
        }
    },

    NETTY {
        @Override
        void encode(byte[] bytes, Blackhole hole) {
            ByteBuf in = Unpooled.wrappedBuffer(bytes);
            consume(
                    io.netty.handler.codec.base64.Base64.encode(
                            in, 0, bytes.length, false, Base64Dialect.STANDARD, ByteBufAllocator.DEFAULT),
                    hole);
        }

        @Override
        void decode(byte[] base64, Blackhole hole) {
            ByteBuf in = Unpooled.wrappedBuffer(base64);
            consume(
                    io.netty.handler.codec.base64.Base64.decode(
                            in, 0, base64.length, Base64Dialect.STANDARD, ByteBufAllocator.DEFAULT),
                    hole);
        }

        private void consume(ByteBuf result, Blackhole hole) {
            hole.consume(result.writerIndex());
            result.release();
        }
    },

    /** Written in C with vector instructions, and called through JNI. */
    AWS_CRT {
        @Override
        void encode(byte[] bytes, Blackhole hole) {
            hole.consume(StringUtils.base64Encode(bytes));
        }

        @Override
        void decode(byte[] base64, Blackhole hole) {
            hole.consume(StringUtils.base64Decode(base64));
        }
    };

    abstract void encode(byte[] bytes, Blackhole hole);

    abstract void decode(byte[] base64, Blackhole hole);
}
