package io.lambdadispatcher.worker.adapter.web;

import io.lambdadispatcher.worker.handler.Request;
import io.lambdadispatcher.worker.handler.Response;

/** Passes requests to the application. */
interface Upstream {
    void relay(Request request, Response response, Origin origin);
}
