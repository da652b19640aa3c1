/**
 * A Spring Boot web application as a worker. The worker relays requests to the application's own
 * web server on loopback, so its filters, security and streams work unchanged. Outside AWS Lambda,
 * {@link io.lambdadispatcher.spring.worker.WorkerProperties} name the dispatchers to dial. On AWS
 * Lambda, {@link io.lambdadispatcher.spring.worker.SpringBootHandler} starts the application.
 */
@NullMarked
package io.lambdadispatcher.spring.worker;

import org.jspecify.annotations.NullMarked;
