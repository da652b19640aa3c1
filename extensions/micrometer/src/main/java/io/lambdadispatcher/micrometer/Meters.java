package io.lambdadispatcher.micrometer;

import org.jspecify.annotations.Nullable;

/** Every meter of ours. Prometheus writes the dots as underscores and adds the unit, and {@code _total} to counters. */
enum Meters {
    REQUESTS("requests", null, "Requests that have ended"),
    FAILURES("request.failures", null, "Requests that got an error made by the dispatcher, or a response cut short"),
    RETRIES("request.retries", null, "Times a request was given to a further worker stream"),
    DURATION("request.duration", null, "From arrival until the last byte of the response was passed on"),
    TUNNEL_DURATION(
            "tunnel.duration",
            null,
            "From arrival until both directions of a WebSocket had ended; not among the requests' durations"),
    QUEUE_TIME("request.queue", null, "From arrival until a worker stream took the request"),
    REQUEST_BYTES("request.body", "bytes", "Bytes of request bodies"),
    RESPONSE_BYTES("response.body", "bytes", "Bytes of response bodies"),
    CLIENT_CONNECTIONS("client.connections", null, "Client connections now"),
    CLIENT_CONNECTIONS_ACCEPTED("client.connections.accepted", null, "Client connections accepted"),
    CLIENT_MEMORY("client.memory", "bytes", "Memory held for clients"),
    CLIENT_MEMORY_LIMIT("client.memory.limit", "bytes", "Maximum memory held for clients"),
    CLIENT_MEMORY_LEVEL(
            "client.memory.level",
            null,
            "0 = calm; 1 = less of each request body is buffered; 2 = requests are refused; 3 = connections are closed"),
    PROTECTIONS("protections", null, "Times the dispatcher has limited a client or a worker, by what it did"),
    WORKERS("workers", null, "Workers dialled in"),
    WORKERS_READY("workers.ready", null, "Workers that take requests"),
    WORKER_STREAMS("worker.streams", null, "Worker streams"),
    WORKER_STREAMS_FREE("worker.streams.free", null, "Worker streams without a request"),
    PENDING("requests.pending", null, "Requests that wait for a worker stream"),
    WORKER_CONNECTIONS_OPENED("worker.connections.opened", null, "Worker connections let in"),
    WORKER_CONNECTIONS_CLOSED("worker.connections.closed", null, "Worker connections that ended"),
    WORKER_REJECTS("worker.rejects", null, "Dial-ins turned away: token, function or protocol"),
    WORKER_CPU("worker.cpu", "ratio", "CPU use that workers report"),
    WORKER_MEMORY("worker.memory", "ratio", "Memory use that workers report"),
    WORKER_LOOP_LAG("worker.loop.lag", null, "Event loop lag that workers report"),
    WORKERS_WANTED("workers.wanted", null, "Workers that the traffic needs, within policy and purse"),
    WORKERS_COMING("workers.coming", null, "Workers launched that are not ready yet"),
    WORKERS_DRAINING("workers.draining", null, "Launched workers that take no more requests"),
    WORKERS_EJECTED("workers.ejected", null, "Workers put aside, for they failed or were slow where others were not"),
    LAUNCHING_HELD("launching.held", null, "1 while the guard or the switch holds launches back"),
    SPENDING("worker.gb.seconds", null, "GB-seconds of launched workers"),
    LAUNCHES("launches", null, "Workers asked for"),
    LAUNCH_ENDS("launch.ends", null, "Launched workers that are gone");

    private final String title;
    private final @Nullable String unit;
    private final String description;

    Meters(String title, @Nullable String unit, String description) {
        this.title = "lambda.dispatcher." + title;
        this.unit = unit;
        this.description = description;
    }

    String title() {
        return title;
    }

    @Nullable
    String unit() {
        return unit;
    }

    String description() {
        return description;
    }
}
