/**
 * Keeps connections to AWS: one HTTP client for all SDK clients of the process. It replaces
 * connections after the environment was frozen, and closes them before a snapshot.
 *
 * <p>It needs the AWS SDK for Java 2.x, which is not a dependency of the worker. Add {@code
 * netty-nio-client} for {@link io.lambdadispatcher.worker.aws.AwsConnections#async}, and {@code
 * apache-client} for {@link io.lambdadispatcher.worker.aws.AwsConnections#blocking}.
 */
@NullMarked
package io.lambdadispatcher.worker.aws;

import org.jspecify.annotations.NullMarked;
