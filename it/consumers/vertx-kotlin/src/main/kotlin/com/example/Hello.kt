package com.example

import io.lambdadispatcher.core.Dispatcher
import io.lambdadispatcher.core.options.FunctionOptions
import io.lambdadispatcher.core.options.ListenerOptions
import io.lambdadispatcher.core.request.DispatchRequest
import io.lambdadispatcher.core.request.DispatchResponse
import io.lambdadispatcher.worker.Worker
import io.lambdadispatcher.worker.config.WorkerConfig
import io.lambdadispatcher.worker.handler.Handler
import io.vertx.core.Future
import io.vertx.core.Vertx

private const val SECRET = "take-32-random-bytes-for-this"

/** A Vert.x server that dispatches what it is asked. */
fun main() {
    val dispatcher = Dispatcher.builder()
        .function(FunctionOptions.of("hello"))
        .workerListener(ListenerOptions.workers("127.0.0.1", 8444)) // workers dial in here
        .secret(SECRET) // authenticates workers
        .start()

    val config = WorkerConfig.of("hello", SECRET, dispatcher.workerAddress())
    val worker = Worker(config, Handler { _, response -> response.respond(200, "hello\n") }).start()

    val vertx = Vertx.vertx()
    vertx.createHttpServer()
        .requestHandler { asked ->
            val answer = dispatcher.dispatch(DispatchRequest.get(asked.uri()).build())
                .thenCompose(DispatchResponse::bodyAsString)
            Future.fromCompletionStage(answer, vertx.orCreateContext)
                .onSuccess { asked.response().end(it) }
                .onFailure { asked.response().setStatusCode(502).end(it.message) }
        }
        .listen(8080, "127.0.0.1")

    Runtime.getRuntime().addShutdownHook(Thread {
        vertx.close().toCompletionStage().toCompletableFuture().join()
        worker.close()
        dispatcher.close()
    })
}
