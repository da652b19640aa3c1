package io.lambdadispatcher.bench.workload;

import com.example.inference.InferenceHandler;
import io.lambdadispatcher.bench.endtoend.ResourceHandler;
import io.lambdadispatcher.worker.handler.FailureReason;
import io.lambdadispatcher.worker.handler.Handler;
import io.lambdadispatcher.worker.handler.Request;
import io.lambdadispatcher.worker.handler.Response;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;

/**
 * The routes of the published scenarios. They include those of {@link ResourceHandler}: {@code
 * /ping}, the image and {@code /echo}. No route blocks a thread while it waits.
 *
 * <table> <caption>Additional routes</caption> <tr><td>{@code GET /s3/image}</td><td>the image,
 * after the time that S3 would take</td></tr> <tr><td>{@code POST /inference/json}, {@code
 * /inference/protobuf}</td><td>a probability: {@link InferenceHandler}</td></tr> <tr><td>{@code GET
 * /put/1}, {@code /put/10}</td><td>that number of puts to the database, one after the
 * other</td></tr> <tr><td>{@code GET /put-afresh/1}, {@code /put-afresh/10}</td><td>puts with a new
 * connection for each</td></tr> <tr><td>{@code GET /sometimes}</td><td>four bytes; one request in
 * {@value #SILENT_ONE_IN} gets no answer</td></tr> </table>
 */
public final class WorkloadHandler implements Handler {
    public static final int SILENT_ONE_IN = 326;

    /** Shared by all handlers of the process, so that it does not matter which one is called. */
    private static final AtomicLong SOMETIMES = new AtomicLong();

    private final Handler resources = new ResourceHandler();
    private final Handler inference = new InferenceHandler();
    private final Wait s3;
    private final Database database;

    /**
     * @param database of this handler alone, because each execution environment has its own
     *     connections
     */
    public WorkloadHandler(Wait s3, Database database) {
        this.s3 = s3;
        this.database = database;
    }

    @Override
    public void handle(Request request, Response response) throws Exception {
        switch (request.path()) {
            case "/s3/image" -> s3Image(request, response);
            case "/inference/json", "/inference/protobuf" -> inference.handle(request, response);
            case "/put/1" -> put(1, true, request, response);
            case "/put/10" -> put(10, true, request, response);
            case "/put-afresh/1" -> put(1, false, request, response);
            case "/put-afresh/10" -> put(10, false, request, response);
            case "/sometimes" -> sometimes(response);
            default -> resources.handle(request, response);
        }
    }

    private void s3Image(Request request, Response response) {
        request.eventLoop().schedule(() -> ResourceHandler.image(response), s3.nextNanos(), TimeUnit.NANOSECONDS);
    }

    private void put(int times, boolean keepAlive, Request request, Response response) {
        database.put(times, keepAlive, request.eventLoop()).whenComplete((done, error) -> {
            if (error == null) {
                ResourceHandler.ping(response);
            } else {
                response.fail(FailureReason.HANDLER_FAILED, String.valueOf(error));
            }
        });
    }

    private static void sometimes(Response response) {
        if (SOMETIMES.incrementAndGet() % SILENT_ONE_IN != 0) {
            ResourceHandler.ping(response);
        }
    }
}
