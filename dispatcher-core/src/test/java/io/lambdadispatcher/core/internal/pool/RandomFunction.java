package io.lambdadispatcher.core.internal.pool;

import io.lambdadispatcher.core.internal.direct.FakeFunction;
import io.lambdadispatcher.core.spi.FunctionInvoker;
import io.lambdadispatcher.core.spi.InvokeException;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.Http2Headers;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import tools.jackson.databind.JsonNode;

/** A function that is invoked directly. What it does is random. */
final class RandomFunction implements FunctionInvoker {
    private final PoolWorld world;
    private final int maxConcurrent;
    private final List<Invocation> open = new ArrayList<>();

    private record Invocation(RandomCall call, CompletableFuture<InvokeResult> result) {}

    RandomFunction(PoolWorld world, int maxConcurrent) {
        this.world = world;
        this.maxConcurrent = maxConcurrent;
    }

    @Override
    public CompletionStage<InvokeResult> invoke(String function, byte[] event) {
        JsonNode request = FakeFunction.JSON.readTree(event);
        Http2Headers head = new DefaultHttp2Headers().add(PoolWorld.ID, FakeFunction.first(request, PoolWorld.ID));
        RandomCall call = new RandomCall(world, head, false);
        call.direct = true;
        call.onRequest(Unpooled.wrappedBuffer(FakeFunction.body(request)), false, false);
        RandomClient client = call.client;
        world.check(client.ended && client.sent == call.received, call + " is invoked without the whole body");
        Invocation invocation = new Invocation(call, new CompletableFuture<>());
        open.add(invocation);
        world.check(open.size() <= maxConcurrent, open.size() + " invocations");
        if (world.oneIn(8)) {
            end(invocation);
        }
        return invocation.result;
    }

    void act() {
        world.any(open, this::end);
    }

    void finish() {
        List.copyOf(open).forEach(this::end);
    }

    boolean isIdle() {
        return open.isEmpty();
    }

    private void end(Invocation invocation) {
        open.remove(invocation);
        RandomCall call = invocation.call;
        call.close();
        if (!world.calm && world.oneIn(3)) {
            InvokeException.Reason reason = world.one(InvokeException.Reason.values());
            call.begun = reason != InvokeException.Reason.THROTTLED && reason != InvokeException.Reason.NOT_READY;
            world.note(call, reason);
            invocation.result.completeExceptionally(new InvokeException(reason, "for the test", null));
            return;
        }
        boolean malformed = !world.calm && world.oneIn(8);
        String error = malformed && world.oneIn(2) ? "Unhandled" : null;
        byte[] payload = malformed ? new byte[] {'{'} : response(call);
        world.note(call, malformed ? "fails" : "result");
        invocation.result.complete(new InvokeResult(200, error, payload));
    }

    private byte[] response(RandomCall call) {
        ByteBuf body = call.response(world.oneIn(3) ? 0 : world.random.nextInt(3_000), true);
        String text = Base64.getEncoder().encodeToString(ByteBufUtil.getBytes(body));
        body.release();
        return ("{\"statusCode\":200,\"headers\":{\"" + PoolWorld.ID + "\":\"" + call.number + "\"},\"body\":\"" + text
                        + "\",\"isBase64Encoded\":true}")
                .getBytes(StandardCharsets.UTF_8);
    }
}
