package io.lambdadispatcher.micrometer;

import org.jspecify.annotations.Nullable;

/**
 * All meters of this module. Prometheus writes the dots as underscores, and adds the unit, and
 * {@code _total} to counters.
 */
enum Meters {
    REQUESTS("requests", null, "Completed requests, including failed ones"),
    FAILURES(
            "request.failures",
            null,
            "Requests that got an error response from the dispatcher, or an incomplete response"),
    WAITS("request.waits", null, "Queued requests, by the reason for which they were queued"),
    SESSIONS("request.sessions", null, "Requests of functions with affinity, by how their worker was chosen"),
    SUBSTITUTES(
            "request.substitutes", null, "Requests that something else answered instead of a worker of their function"),
    BREAKER_OPENINGS("breaker.openings", null, "How often a breaker has opened"),
    BREAKER_PASSING(
            "breaker.passing", "ratio", "The share of the requests that the breaker lets pass: 1 = closed, 0 = open"),
    RETRIES("request.retries", null, "Further attempts of requests, by the reason for which they were sent again"),
    RETRIES_DENIED(
            "request.retries.denied",
            null,
            "Requests that were not sent again after an attempt failed or was slow, by reason"),
    DURATION(
            "request.duration",
            null,
            "Time from the arrival of a request until the last byte of its response was forwarded"),
    TUNNEL_DURATION(
            "tunnel.duration",
            null,
            "Time from the arrival of a WebSocket request until both directions ended. It is not part of request.duration."),
    QUEUE_TIME("request.queue", null, "Time from the arrival of a request until a worker stream accepted it"),
    REQUEST_BYTES("request.body", "bytes", "Bytes of request bodies"),
    RESPONSE_BYTES("response.body", "bytes", "Bytes of response bodies"),
    CLIENT_CONNECTIONS("client.connections", null, "Open client connections"),
    CLIENT_CONNECTIONS_ACCEPTED("client.connections.accepted", null, "Accepted client connections"),
    CLIENT_MEMORY("client.memory", "bytes", "Memory that the dispatcher uses for clients"),
    CLIENT_MEMORY_LIMIT("client.memory.limit", "bytes", "Maximum memory that the dispatcher uses for clients"),
    CLIENT_MEMORY_LEVEL(
            "client.memory.level",
            null,
            "Memory pressure: 0 = none, 1 = less of each request body is buffered, 2 = requests are rejected, 3 = connections are closed"),
    PROTECTIONS(
            "protections", null, "Actions that protected the dispatcher from a client or a worker, by kind of action"),
    WORKER_REQUESTS("worker.requests", null, "Completed requests that a worker received, by the kind of the worker"),
    WORKERS("workers", null, "Connected workers"),
    WORKERS_READY("workers.ready", null, "Workers that accept requests"),
    WORKERS_READY_BASE("workers.ready.base", null, "Base workers that accept requests"),
    BASE_ADVISED(
            "base.advised.concurrency",
            null,
            "Concurrent requests for which the base should have workers, at the least cost for the traffic of the last hours"),
    WORKER_STREAMS("worker.streams", null, "Open worker streams"),
    WORKER_STREAMS_FREE("worker.streams.free", null, "Free worker streams"),
    QUEUED("requests.queued", null, "Queued requests, which wait for a worker stream"),
    WORKER_CONNECTIONS_OPENED("worker.connections.opened", null, "Accepted worker connections"),
    WORKER_CONNECTIONS_CLOSED("worker.connections.closed", null, "Closed worker connections"),
    WORKER_REJECTIONS(
            "worker.rejections", null, "Rejected dial-ins, because of the token, the function or the protocol"),
    WORKER_CPU("worker.cpu", "ratio", "CPU usage that workers report"),
    WORKER_MEMORY("worker.memory", "ratio", "Memory usage that workers report"),
    WORKER_LOOP_LAG("worker.loop.lag", null, "Event loop lag that workers report"),
    WORKERS_DESIRED(
            "workers.desired",
            null,
            "Launched workers that the traffic needs, within the scaling limits and the spending limit"),
    WORKERS_STARTING("workers.starting", null, "Launched workers that are not ready yet"),
    WORKERS_DRAINING("workers.draining", null, "Launched workers that are draining"),
    WORKERS_EJECTED(
            "workers.ejected",
            null,
            "Workers ejected by outlier detection, because they failed more often or were slower than others"),
    LAUNCHES_BLOCKED(
            "launches.blocked", null, "1 if a launch limit or the kill switch delays or blocks launches, otherwise 0"),
    ROLLOUT(
            "rollout",
            null,
            "Change to another version of the function: 0 = none, 1 = a few workers have it, 2 = workers are replaced, 3 = stopped"),
    SPENDING("worker.gigabyte.seconds", null, "GB-seconds that launched workers have used"),
    LOOP_LAG("event.loop.lag", "seconds", "Longest time that a task waited for an event loop in the last second"),
    CPU_THROTTLED(
            "cpu.throttled.seconds", null, "Time for which the limit of its container kept the process from running"),
    INCIDENTS("incidents", null, "Incidents that go on. The log has a line when each begins and when it ends."),
    LAUNCHES("launches", null, "Launches of workers"),
    LAUNCHES_ENDED("launches.ended", null, "Launched workers that have exited, and failed launches"),
    FLEET_MEMBERS("fleet.members", null, "Dispatchers of the fleet that are alive, this one included"),
    FLEET_MEMBERS_SILENT(
            "fleet.members.silent",
            null,
            "Dispatchers of the fleet that have stopped without leaving it, or are cut off"),
    FLEET_LEASE_AGE("fleet.lease.age", "seconds", "Time since this dispatcher last renewed its lease"),
    FLEET_LEASE_VALID(
            "fleet.lease.valid", null, "1 if the lease permits this dispatcher to launch workers, otherwise 0"),
    FLEET_ENTRIES_UNREADABLE(
            "fleet.entries.unreadable", null, "Entries of the fleet's ledger that this dispatcher cannot read"),
    FLEET_WORKERS("fleet.workers", null, "Workers of the fleet that may run and are not being replaced"),
    FLEET_WORKERS_REPLACED(
            "fleet.workers.replaced",
            null,
            "Workers of the fleet that may still run and are being replaced, or have just ended"),
    FLEET_WORKERS_RESERVED(
            "fleet.workers.reserved", null, "Permissions to launch that this dispatcher has not used yet"),
    FLEET_LIMITS_DIFFER(
            "fleet.limits.differ", null, "1 if another dispatcher of the fleet has other limits, otherwise 0");

    static final String PREFIX = "lambda.dispatcher.";

    private final String title;
    private final @Nullable String unit;
    private final String description;

    Meters(String title, @Nullable String unit, String description) {
        this.title = PREFIX + title;
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
