/**
 * A Spring Boot web application as a worker. The worker relays requests to the application's own
 * web server on loopback, so its filters, security and streams work unchanged.
 *
 * <p>Outside AWS Lambda, {@link io.lambdadispatcher.spring.worker.WorkerProperties} name the
 * dispatchers to connect to:
 *
 * <pre>
 * lambda-dispatcher.worker.function=shop
 * lambda-dispatcher.worker.addresses=dispatcher.internal:8444
 * lambda-dispatcher.worker.secret=${DISPATCHER_SECRET}
 * </pre>
 *
 * <p>On AWS Lambda, {@link io.lambdadispatcher.spring.worker.SpringBootHandler} starts the
 * application.
 */
@NullMarked
package io.lambdadispatcher.spring.worker;

import org.jspecify.annotations.NullMarked;
