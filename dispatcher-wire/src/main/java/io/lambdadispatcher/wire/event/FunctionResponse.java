package io.lambdadispatcher.wire.event;

import io.netty.handler.codec.http2.Http2Headers;

/**
 * A function's response as HTTP.
 *
 * @param head with {@code :status}, names in lower case, no connection-specific headers, and a
 *     {@code content-length} where it is allowed
 * @param body must not be changed; empty if the response to this request has no body
 */
public record FunctionResponse(Http2Headers head, byte[] body) {}
