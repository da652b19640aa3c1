package io.lambdadispatcher.wire.event;

import io.netty.handler.codec.http2.Http2Headers;

/**
 * A function's response as HTTP.
 *
 * @param head with {@code :status}, lower-case names, nothing connection-specific, and a {@code
 *     content-length} where one may be
 * @param body not to be changed; empty where a response to this request has none
 */
public record FunctionResponse(Http2Headers head, byte[] body) {}
