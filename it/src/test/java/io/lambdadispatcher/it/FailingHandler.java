package io.lambdadispatcher.it;

import io.lambdadispatcher.worker.handler.Handler;
import io.lambdadispatcher.worker.handler.Request;
import io.lambdadispatcher.worker.handler.Response;
import io.netty.handler.codec.http2.DefaultHttp2Headers;

/** Answers every request with status 500. */
public final class FailingHandler implements Handler {
    public FailingHandler() {}

    @Override
    public void handle(Request request, Response response) {
        response.respond(new DefaultHttp2Headers(false).status("500"));
    }
}
