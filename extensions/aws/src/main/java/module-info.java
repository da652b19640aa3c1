/**
 * Starts workers on AWS Lambda, invokes functions directly, and keeps a fleet's ledger in DynamoDB.
 */
module io.lambdadispatcher.aws {
    requires transitive io.lambdadispatcher.core;
    requires java.net.http;
    requires jdk.net;
    requires static transitive org.jspecify;
    requires org.slf4j;
    requires software.amazon.awssdk.auth;
    requires software.amazon.awssdk.awscore;
    requires software.amazon.awssdk.core;
    requires software.amazon.awssdk.http;
    requires software.amazon.awssdk.http.auth.aws;
    requires software.amazon.awssdk.http.auth.spi;
    requires software.amazon.awssdk.http.nio.netty;
    requires software.amazon.awssdk.identity.spi;
    requires software.amazon.awssdk.regions;
    requires software.amazon.awssdk.retries;
    requires software.amazon.awssdk.retries.api;
    requires software.amazon.awssdk.services.dynamodb;
    requires software.amazon.awssdk.services.lambda;
    requires software.amazon.awssdk.utils;
    requires tools.jackson.core;

    exports io.lambdadispatcher.aws;
}
