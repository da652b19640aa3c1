/**
 * AWS. {@link io.lambdadispatcher.aws.LambdaLauncher} starts workers by invoking functions. {@link
 * io.lambdadispatcher.aws.LambdaInvoker} invokes functions for direct requests. {@link
 * io.lambdadispatcher.aws.AdvertisedAddress} finds the address that workers connect to. {@link
 * io.lambdadispatcher.aws.DynamoDbLedger} stores what the dispatchers of a fleet share.
 *
 * <pre>{@code
 * String host = AdvertisedAddress.find().host();
 * LambdaLauncher launcher = LambdaLauncher.builder()
 *         .function("images", "images-function:live")
 *         .build();
 * Dispatcher dispatcher = Dispatcher.builder()
 *         .function(FunctionOptions.builder("images")
 *                 .capacity(CapacityPolicy.builder().workers(0, 20).build())
 *                 .build())
 *         .publicListener(ListenerOptions.plain("0.0.0.0", 8080))
 *         .workerListener(ListenerOptions.workers("0.0.0.0", 8444))
 *         .advertisedAddresses(List.of(InetSocketAddress.createUnresolved(host, 0)))
 *         .secret(secret)
 *         .launcher(launcher)
 *         .start();
 * }</pre>
 */
@NullMarked
package io.lambdadispatcher.aws;

import org.jspecify.annotations.NullMarked;
