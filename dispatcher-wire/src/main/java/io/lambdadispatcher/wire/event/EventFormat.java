package io.lambdadispatcher.wire.event;

/** How a request is written as a JSON event, and its response read. {@code docs/DIRECT.md} has the rules of each. */
public enum EventFormat {
    /** An Application Load Balancer's, with one value for each header and query parameter. */
    ALB,
    /** An Application Load Balancer's with {@code lambda.multi_value_headers.enabled}. */
    ALB_MULTI_VALUE,
    /** API Gateway's HTTP API and function URLs, payload format 2.0. */
    HTTP_API_V2
}
