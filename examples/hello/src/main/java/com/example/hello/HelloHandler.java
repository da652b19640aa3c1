package com.example.hello;

import io.lambdadispatcher.worker.handler.Handler;
import io.lambdadispatcher.worker.handler.Request;
import io.lambdadispatcher.worker.handler.Response;

/** Answers {@code hello} on {@code /} and {@code pong} on {@code /ping}. */
public final class HelloHandler implements Handler {
    @Override
    public void handle(Request request, Response response) {
        switch (request.path()) {
            case "/" -> response.respond(200, "hello\n");
            case "/ping" -> response.respond(200, "pong\n");
            default -> response.respond(404, "not found\n");
        }
    }
}
