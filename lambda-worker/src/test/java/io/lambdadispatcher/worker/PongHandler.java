package io.lambdadispatcher.worker;

import io.lambdadispatcher.worker.handler.Handler;
import io.lambdadispatcher.worker.handler.Request;
import io.lambdadispatcher.worker.handler.Response;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.ByteBufUtil;
import java.util.concurrent.TimeUnit;

/** Answers {@code pong}. A path such as {@code /delay/200} delays the answer by 200 ms. */
public final class PongHandler implements Handler {
    private static final String DELAY = "/delay/";

    @Override
    public void handle(Request request, Response response) {
        String path = request.path();
        if (path.startsWith(DELAY)) {
            long millis = Long.parseLong(path.substring(DELAY.length()));
            request.eventLoop().schedule(() -> pong(response), millis, TimeUnit.MILLISECONDS);
        } else {
            pong(response);
        }
    }

    private static void pong(Response response) {
        response.head(200);
        response.write(ByteBufUtil.writeUtf8(ByteBufAllocator.DEFAULT, "pong"));
        response.end();
    }
}
