package io.lambdadispatcher.server.admin;

import static io.netty.handler.codec.http.HttpResponseStatus.BAD_REQUEST;
import static io.netty.handler.codec.http.HttpResponseStatus.NOT_FOUND;
import static io.netty.handler.codec.http.HttpResponseStatus.SERVICE_UNAVAILABLE;

import io.lambdadispatcher.core.Dispatcher;
import io.lambdadispatcher.core.observe.PoolSnapshot;
import io.lambdadispatcher.core.observe.WorkerCommandResult;
import io.lambdadispatcher.core.observe.WorkerSnapshot;
import io.lambdadispatcher.wire.event.Json;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeSet;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * The pages {@code /api/workers/drain} and {@code /api/workers/recycle}. Any thread except event
 * loops of the dispatcher, because it waits for these.
 */
public final class WorkerControl {
    private static final int PATIENCE_SECONDS = 2;
    private static final int MAX_CANDIDATES = 10;
    private static final String WORKER = "worker";
    private static final String FUNCTION = "function";
    private static final String VERSION = "version";

    /** What a dispatcher can do with its workers. */
    interface Workers {
        /** Returns the names of all functions. */
        List<String> functions();

        CompletionStage<List<WorkerSnapshot>> all();

        CompletionStage<List<WorkerCommandResult>> drain(Predicate<WorkerSnapshot> which);

        CompletionStage<List<WorkerCommandResult>> recycle(Predicate<WorkerSnapshot> which);
    }

    private volatile @Nullable Workers workers;

    public void of(Dispatcher dispatcher) {
        of(new Workers() {
            @Override
            public List<String> functions() {
                return dispatcher.pools().stream().map(PoolSnapshot::function).toList();
            }

            @Override
            public CompletionStage<List<WorkerSnapshot>> all() {
                return dispatcher.workers();
            }

            @Override
            public CompletionStage<List<WorkerCommandResult>> drain(Predicate<WorkerSnapshot> which) {
                return dispatcher.drain(which);
            }

            @Override
            public CompletionStage<List<WorkerCommandResult>> recycle(Predicate<WorkerSnapshot> which) {
                return dispatcher.recycle(which);
            }
        });
    }

    void of(Workers value) {
        workers = value;
    }

    /**
     * Drains the workers that the query names.
     *
     * @return the workers and what happens to each, as JSON
     * @throws RefusedException if the query is wrong, or if there is no such worker
     */
    byte[] drain(String uri) {
        Workers all = started();
        return json(all.drain(selected(uri, all)));
    }

    /**
     * Replaces the workers that the query names.
     *
     * @return the workers and what happens to each, as JSON
     * @throws RefusedException if the query is wrong, or if there is no such worker
     */
    byte[] recycle(String uri) {
        Workers all = started();
        return json(all.recycle(selected(uri, all)));
    }

    private Workers started() {
        Workers all = workers;
        if (all == null) {
            throw new RefusedException(SERVICE_UNAVAILABLE, "the dispatcher is starting");
        }
        return all;
    }

    private static Predicate<WorkerSnapshot> selected(String uri, Workers all) {
        Map<String, String> query = ChangeParameters.of(uri, List.of(WORKER, FUNCTION, VERSION));
        String worker = query.get(WORKER);
        String function = query.get(FUNCTION);
        String version = query.get(VERSION);
        if (worker != null) {
            if (query.size() > 1) {
                throw ChangeParameters.wrong(WORKER, worker, "no other parameter beside it");
            }
            return only(worker, all);
        }
        if (function == null) {
            throw ChangeParameters.wrong(WORKER, null, "the id of a worker, or the parameter function");
        }
        if (!all.functions().contains(function)) {
            throw new RefusedException(
                    NOT_FOUND, FUNCTION + ": '" + function + "', expected one of " + all.functions());
        }
        return version == null ? each -> each.function().equals(function) : ofVersion(function, version, all);
    }

    /** @param start a complete id, or the beginning of one worker's id only */
    private static Predicate<WorkerSnapshot> only(String start, Workers all) {
        List<String> ids = await(all.all()).stream()
                .map(WorkerSnapshot::workerId)
                .filter(id -> id.startsWith(start))
                .sorted()
                .toList();
        if (ids.isEmpty() || start.isEmpty()) {
            throw new RefusedException(
                    NOT_FOUND, WORKER + ": '" + start + "', expected the id of a worker that GET /api/workers shows");
        }
        if (ids.size() > 1 && !ids.contains(start)) {
            throw new RefusedException(
                    BAD_REQUEST,
                    WORKER + ": '" + start + "', expected the beginning of one id, got that of " + ids.size() + ": "
                            + String.join(", ", ids.subList(0, Math.min(ids.size(), MAX_CANDIDATES)))
                            + (ids.size() > MAX_CANDIDATES ? ", …" : ""));
        }
        String id = ids.contains(start) ? start : ids.get(0);
        return each -> each.workerId().equals(id);
    }

    private static Predicate<WorkerSnapshot> ofVersion(String function, String version, Workers all) {
        TreeSet<String> versions = await(all.all()).stream()
                .filter(each -> each.function().equals(function))
                .map(WorkerSnapshot::version)
                .filter(each -> !each.isEmpty())
                .collect(Collectors.toCollection(TreeSet::new));
        if (!versions.contains(version)) {
            throw new RefusedException(
                    NOT_FOUND, VERSION + ": '" + version + "', expected a version that a worker has: " + versions);
        }
        return each -> each.function().equals(function) && each.version().equals(version);
    }

    private static byte[] json(CompletionStage<List<WorkerCommandResult>> results) {
        return Json.bytes(Map.of(
                "workers", await(results).stream().map(WorkerControl::object).toList()));
    }

    private static Map<String, Object> object(WorkerCommandResult result) {
        Map<String, Object> object = new LinkedHashMap<>();
        object.put("id", result.worker().workerId());
        object.put("function", result.worker().function());
        if (!result.worker().version().isEmpty()) {
            object.put("version", result.worker().version());
        }
        object.put("outcome", result.outcome().name().toLowerCase(Locale.ROOT));
        return object;
    }

    private static <T> T await(CompletionStage<T> stage) {
        try {
            return stage.toCompletableFuture().get(PATIENCE_SECONDS, TimeUnit.SECONDS);
        } catch (TimeoutException e) {
            throw new RefusedException(
                    SERVICE_UNAVAILABLE,
                    "an event loop has not answered within " + PATIENCE_SECONDS
                            + " s. The command may still be carried out. GET /api/workers shows that.");
        } catch (ExecutionException e) {
            throw new RefusedException(SERVICE_UNAVAILABLE, "the dispatcher is closing");
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new RefusedException(SERVICE_UNAVAILABLE, "the dispatcher is closing");
        }
    }
}
