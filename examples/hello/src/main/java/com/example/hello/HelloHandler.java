package com.example.hello;

import io.lambdadispatcher.worker.handler.Handler;
import io.lambdadispatcher.worker.handler.Request;
import io.lambdadispatcher.worker.handler.Response;
import io.netty.buffer.Unpooled;
import java.nio.charset.StandardCharsets;

/** Answers {@code hello} on {@code /} and {@code pong} on {@code /ping}. */
public final class HelloHandler implements Handler {
    @Override
    public void handle(Request request, Response response) {
        switch (request.path()) {
            case "/" -> answer(response, 200, "hello\n");
            case "/ping" -> answer(response, 200, "pong\n");
            default -> answer(response, 404, "not found\n");
        }
    }

    private static void answer(Response response, int status, String text) {
        response.head(status);
        response.write(Unpooled.copiedBuffer(text, StandardCharsets.UTF_8));
        response.end();
    }
}
