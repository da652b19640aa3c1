/**
 * Connections to AWS that are kept: one HTTP client for all SDK clients of the process, which does
 * not trust a connection after the environment was frozen, and has none in a snapshot. Needs the
 * AWS SDK for Java 2.x, which the worker itself does not bring: {@code netty-nio-client} for {@link
 * io.lambdadispatcher.worker.aws.AwsConnections#async}, {@code apache-client} for {@link
 * io.lambdadispatcher.worker.aws.AwsConnections#blocking}.
 */
@NullMarked
package io.lambdadispatcher.worker.aws;

import org.jspecify.annotations.NullMarked;
