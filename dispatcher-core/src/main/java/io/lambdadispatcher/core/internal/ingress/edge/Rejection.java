package io.lambdadispatcher.core.internal.ingress.edge;

import io.netty.handler.codec.http.HttpResponseStatus;

/**
 * Why a client's request breaks a rule, so that no function gets it.
 *
 * @param detail for the client: the rule, and at most parts of the request
 */
public record Rejection(HttpResponseStatus status, String detail) {

    /** Returns a rejection with status 400. */
    public static Rejection badRequest(String detail) {
        return new Rejection(HttpResponseStatus.BAD_REQUEST, detail);
    }
}
