package io.lambdadispatcher.worker.adapter.web;

import static org.assertj.core.api.Assertions.assertThat;

import com.code_intelligence.jazzer.junit.FuzzTest;
import io.lambdadispatcher.wire.testkit.Splits;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.UnpooledByteBufAllocator;
import io.netty.channel.embedded.EmbeddedChannel;
import io.netty.handler.codec.http.HttpContent;
import io.netty.handler.codec.http.HttpObject;
import io.netty.handler.codec.http.HttpResponse;
import io.netty.handler.codec.http.LastHttpContent;
import io.netty.util.ReferenceCountUtil;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * Sends any bytes as an application's response, in any pieces. {@code JAZZER_FUZZ=1} looks for more
 * input.
 */
class Http1ResponseFuzzTest {

    /** The first byte says how the others are split, and whether they answer a HEAD. */
    @FuzzTest(maxDuration = "20m")
    void should_survive_any_response(byte[] input) throws Exception {
        if (input.length == 0) {
            return;
        }
        byte[] bytes = Arrays.copyOfRange(input, 1, input.length);
        boolean toHead = input[0] < 0;
        assertThat(seen(bytes, toHead, Splits.random(input[0], 1 + (input[0] & 0x3F))))
                .isEqualTo(seen(bytes, toHead, Splits.whole()));
    }

    /**
     * Returns what is read until the first response ends or is malformed, because an exchange reads
     * no further.
     */
    private static String seen(byte[] bytes, boolean toHead, Splits.Split split) throws Exception {
        UnpooledByteBufAllocator memory = new UnpooledByteBufAllocator(false);
        Http1ResponseDecoder decoder = new Http1ResponseDecoder();
        EmbeddedChannel channel = new EmbeddedChannel();
        channel.config().setAllocator(memory);
        channel.pipeline().addLast(decoder);
        decoder.expect(toHead);
        List<Object> read = new ArrayList<>();
        split.feed(bytes, piece -> {
            channel.writeInbound(memory.buffer(piece.readableBytes()).writeBytes(piece));
            for (Object part = channel.readInbound(); part != null; part = channel.readInbound()) {
                read.add(part);
            }
        });
        String seen = describe(read);
        read.forEach(ReferenceCountUtil::release);
        channel.finishAndReleaseAll();
        assertThat(memory.metric().usedHeapMemory() + memory.metric().usedDirectMemory())
                .as("bytes that nobody has released")
                .isZero();
        return seen;
    }

    private static String describe(List<Object> parts) {
        StringBuilder seen = new StringBuilder();
        for (Object part : parts) {
            if (part instanceof ByteBuf tunnelled) {
                seen.append(ByteBufUtil.hexDump(tunnelled));
                continue;
            }
            if (((HttpObject) part).decoderResult().isFailure()) {
                return seen + " malformed";
            }
            if (part instanceof HttpResponse head) {
                seen.append(head.status()).append(head.headers().entries());
            }
            if (part instanceof HttpContent content) {
                seen.append(ByteBufUtil.hexDump(content.content()));
            }
            if (part instanceof LastHttpContent last) {
                seen.append(" ended ").append(last.trailingHeaders().entries());
            }
        }
        return seen.toString();
    }
}
