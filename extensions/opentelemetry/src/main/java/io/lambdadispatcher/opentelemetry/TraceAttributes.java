package io.lambdadispatcher.opentelemetry;

import io.opentelemetry.api.common.AttributeKey;

/**
 * The names of attributes. Those without {@code lambda_dispatcher} are OpenTelemetry's semantic
 * conventions 1.37 ({@code https://opentelemetry.io/docs/specs/semconv/http/http-spans/}).
 */
final class TraceAttributes {
    static final AttributeKey<String> METHOD = AttributeKey.stringKey("http.request.method");
    static final AttributeKey<String> METHOD_ORIGINAL = AttributeKey.stringKey("http.request.method_original");
    static final AttributeKey<Long> RESEND_COUNT = AttributeKey.longKey("http.request.resend_count");
    static final AttributeKey<Long> REQUEST_BYTES = AttributeKey.longKey("http.request.body.size");
    static final AttributeKey<Long> RESPONSE_BYTES = AttributeKey.longKey("http.response.body.size");
    static final AttributeKey<Long> STATUS = AttributeKey.longKey("http.response.status_code");
    static final AttributeKey<String> PATH = AttributeKey.stringKey("url.path");
    static final AttributeKey<String> SCHEME = AttributeKey.stringKey("url.scheme");
    static final AttributeKey<String> SERVER_ADDRESS = AttributeKey.stringKey("server.address");
    static final AttributeKey<Long> SERVER_PORT = AttributeKey.longKey("server.port");
    static final AttributeKey<String> PEER_ADDRESS = AttributeKey.stringKey("network.peer.address");
    static final AttributeKey<Long> PEER_PORT = AttributeKey.longKey("network.peer.port");
    static final AttributeKey<String> PROTOCOL_VERSION = AttributeKey.stringKey("network.protocol.version");
    static final AttributeKey<String> USER_AGENT = AttributeKey.stringKey("user_agent.original");
    static final AttributeKey<String> ERROR_TYPE = AttributeKey.stringKey("error.type");

    static final AttributeKey<String> FUNCTION = AttributeKey.stringKey("lambda_dispatcher.function");
    static final AttributeKey<String> WORKER = AttributeKey.stringKey("lambda_dispatcher.worker.id");
    static final AttributeKey<String> WAIT_REASON = AttributeKey.stringKey("lambda_dispatcher.wait_reason");
    static final AttributeKey<String> OUTCOME = AttributeKey.stringKey("lambda_dispatcher.outcome");

    private TraceAttributes() {}
}
