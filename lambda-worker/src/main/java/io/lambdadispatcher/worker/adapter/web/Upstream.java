package io.lambdadispatcher.worker.adapter.web;

import io.lambdadispatcher.worker.handler.Request;
import io.lambdadispatcher.worker.handler.Response;

/** The way to the application. */
interface Upstream {
    void relay(Request request, Response response, Origin origin);
}
