package io.lambdadispatcher.wire.event;

import tools.jackson.core.JsonGenerator;

/**
 * The event of a function URL (<a
 * href="https://docs.aws.amazon.com/lambda/latest/dg/urls-invocation.html#urls-payloads">AWS's
 * description</a>): format 2.0 with {@code null} for the caller, as without IAM.
 */
final class FunctionUrlEvent extends HttpApiEvent {
    @Override
    void writeCaller(JsonGenerator json) {
        json.writeNullProperty("authentication");
        json.writeNullProperty("authorizer");
    }
}
