package com.example.aws;

import io.lambdadispatcher.worker.handler.Request;
import java.util.Arrays;
import java.util.Map;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import software.amazon.awssdk.services.dynamodb.DynamoDbAsyncClient;
import software.amazon.awssdk.services.dynamodb.model.AttributeValue;

/**
 * Puts items one after the other and measures each put. Stops when the request is cancelled. Used
 * by one thread at a time.
 */
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
        // Asynchronously, because the SDK returns the connection to its pool only after this stage.
        // Otherwise, the next put would open another connection.
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

    /** Returns the prefix of the items' keys, and how long each put took. */
    String json() {
        long[] tookMicros =
                Arrays.stream(tookNanos).map(TimeUnit.NANOSECONDS::toMicros).toArray();
        return "{\"batch\":\"" + batch + "\",\"tookMicros\":" + Arrays.toString(tookMicros) + "}";
    }
}
