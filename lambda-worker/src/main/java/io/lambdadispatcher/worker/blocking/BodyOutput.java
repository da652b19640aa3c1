package io.lambdadispatcher.worker.blocking;

import io.lambdadispatcher.wire.blocking.BlockingOutput;
import io.lambdadispatcher.worker.handler.Response;
import io.netty.buffer.ByteBuf;
import java.io.IOException;

/** A response's body. */
final class BodyOutput extends BlockingOutput {
    private final BlockingCall call;
    private final Response to;

    BodyOutput(BlockingCall call, Response to) {
        this.call = call;
        this.to = to;
    }

    @Override
    protected void sendHead() {
        call.sendHead();
    }

    @Override
    protected boolean send(ByteBuf data) {
        return to.write(data);
    }

    @Override
    protected boolean isWritable() {
        return to.isWritable();
    }

    @Override
    protected void verifyWanted() throws IOException {
        call.verifyWanted();
    }
}
