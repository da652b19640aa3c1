/**
 * Connections of a worker to AWS. All SDK clients of the process share one HTTP client, which
 * closes its connections before a snapshot, and does not reuse them after the environment was
 * frozen.
 *
 * <pre>{@code
 * DynamoDbAsyncClient table =
 *         DynamoDbAsyncClient.builder().httpClient(AwsConnections.shared().async()).build();
 * }</pre>
 *
 * <p>It needs the AWS SDK for Java 2.x, which the worker does not contain: {@code netty-nio-client}
 * for {@link io.lambdadispatcher.worker.aws.AwsConnections#async}, and {@code apache-client} for
 * {@link io.lambdadispatcher.worker.aws.AwsConnections#blocking}.
 */
@NullMarked
package io.lambdadispatcher.worker.aws;

import org.jspecify.annotations.NullMarked;
