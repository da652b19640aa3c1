package io.lambdadispatcher.core.options;

/**
 * The JSON event that a function receives for a direct request. {@code
 * docs/reference/direct-requests.md} describes each format.
 */
public enum DirectEventFormat {
    /**
     * The event of an Application Load Balancer, with one value for each header and query
     * parameter.
     */
    ALB,
    /**
     * The event of an Application Load Balancer whose target group has {@code
     * lambda.multi_value_headers.enabled}.
     */
    ALB_MULTI_VALUE,
    /** The event of API Gateway's HTTP API, payload format 2.0. */
    HTTP_API_V2,
    /**
     * The event of API Gateway's REST API with Lambda proxy integration. HTTP APIs call it payload
     * format 1.0.
     */
    REST_API,
    /**
     * The event of a Lambda function URL. It has payload format 2.0, with a {@code requestContext}
     * of its own.
     */
    FUNCTION_URL
}
