package io.lambdadispatcher.server.demo;

import io.lambdadispatcher.worker.handler.Request;
import java.util.Map;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import software.amazon.awssdk.services.dynamodb.DynamoDbAsyncClient;
import software.amazon.awssdk.services.dynamodb.model.AttributeValue;
import tools.jackson.core.JsonGenerator;

/** Puts items one after the other and measures each. Stops when the request is cancelled. One thread at a time. */
final class PutSeries {
    private final DynamoDbAsyncClient dynamoDb;
    private final String table;
    private final String batch;
    private final Request request;
    private final long[] tookNanos;
    private int done;

    /** @param batch the prefix of the items' keys */
    PutSeries(DynamoDbAsyncClient dynamoDb, String table, String batch, int items, Request request) {
        this.dynamoDb = dynamoDb;
        this.table = table;
        this.batch = batch;
        this.request = request;
        tookNanos = new long[items];
    }

    /** @return completes with this object after the last item */
    CompletableFuture<PutSeries> run() {
        if (done == tookNanos.length) {
            return CompletableFuture.completedFuture(this);
        }
        if (request.cancellation() != null) {
            return CompletableFuture.failedFuture(new CancellationException("after " + done + " items"));
        }
        long startNanos = System.nanoTime();
        // Asynchronously, because the SDK returns the connection to its pool only after this stage: otherwise the next
        // put
        // would dial another.
        return dynamoDb.putItem(put -> put.tableName(table).item(item(done)))
                .thenComposeAsync(
                        put -> {
                            tookNanos[done++] = System.nanoTime() - startNanos;
                            return run();
                        },
                        request.eventLoop());
    }

    private Map<String, AttributeValue> item(int number) {
        return Map.of(
                "id", AttributeValue.fromS(batch + "-" + number),
                "number", AttributeValue.fromN(Integer.toString(number)),
                "writtenMillis", AttributeValue.fromN(Long.toString(System.currentTimeMillis())));
    }

    void describe(JsonGenerator json) {
        json.writeStringProperty("batch", batch);
        json.writeArrayPropertyStart("tookMicros");
        for (long nanos : tookNanos) {
            json.writeNumber(TimeUnit.NANOSECONDS.toMicros(nanos));
        }
        json.writeEndArray();
    }
}
