package io.lambdadispatcher.it.awsdemo;

import io.lambdadispatcher.wire.ErrorCode;
import io.lambdadispatcher.worker.demo.DemoHandler;
import io.lambdadispatcher.worker.handler.FailureLog;
import io.lambdadispatcher.worker.handler.Handler;
import io.lambdadispatcher.worker.handler.Request;
import io.lambdadispatcher.worker.handler.Response;
import io.netty.handler.codec.http.QueryStringDecoder;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.CompletionException;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import software.amazon.awssdk.core.async.AsyncResponseTransformer;
import software.amazon.awssdk.core.async.ResponsePublisher;
import software.amazon.awssdk.core.exception.SdkServiceException;
import software.amazon.awssdk.services.dynamodb.model.AttributeValue;
import software.amazon.awssdk.services.s3.model.GetObjectResponse;

/**
 * The demo's routes, and three that use AWS: {@code /read-s3?key=} streams an object of the bucket {@code DEMO_BUCKET}, {@code /read?id=} answers
 * an item of the table {@code DEMO_TABLE} (key: the string {@code id}) as JSON, {@code /dynamodb-put?n=} puts so many items one after the other
 * and answers how long each took. No object, no item: 404; what else AWS refuses: 500, and the reason in the log.
 */
public final class AwsDemoHandler implements Handler {
    private static final int MOST_PUTS = 1000;

    private final Handler others = new DemoHandler();
    private final String bucket = variable("DEMO_BUCKET");
    private final String table = variable("DEMO_TABLE");

    private static String variable(String name) {
        String value = System.getenv(name);
        if (value == null || value.isBlank()) {
            throw new IllegalArgumentException(name + " is not set, expected the name of the bucket or table to use");
        }
        return value;
    }

    @Override
    public void handle(Request request, Response response) throws Exception {
        QueryStringDecoder target = new QueryStringDecoder(request.path());
        switch (target.path()) {
            case "/read-s3" -> withParameter(target, "key", response, key -> readObject(key, request, response));
            case "/read" -> withParameter(target, "id", response, id -> readItem(id, request, response));
            case "/dynamodb-put" -> putItems(target, request, response);
            default -> others.handle(request, response);
        }
    }

    private static void withParameter(
            QueryStringDecoder target, String name, Response response, Consumer<String> route) {
        String value = parameter(target, name);
        if (value == null) {
            Answers.text(response, 400, "parameter " + name + " is missing from " + target.uri() + "\n");
        } else {
            route.accept(value);
        }
    }

    private static @Nullable String parameter(QueryStringDecoder target, String name) {
        List<String> values = target.parameters().get(name);
        return values == null || values.get(0).isEmpty() ? null : values.get(0);
    }

    private void readObject(String key, Request request, Response response) {
        ObjectStream stream = new ObjectStream(request, response);
        AwsClients.whenMade()
                .thenCompose(clients -> clients.s3()
                        .getObject(
                                get -> get.bucket(bucket).key(key),
                                AsyncResponseTransformer.<GetObjectResponse>toPublisher()))
                .whenComplete((@Nullable ResponsePublisher<GetObjectResponse> object, @Nullable Throwable error) -> {
                    if (object != null) {
                        stream.start(object);
                    } else {
                        onFailure("object " + key, error, request, response);
                    }
                });
    }

    private void readItem(String id, Request request, Response response) {
        AwsClients.whenMade()
                .thenCompose(clients -> clients.dynamoDb()
                        .getItem(get -> get.tableName(table).key(Map.of("id", AttributeValue.fromS(id)))))
                .whenComplete((item, error) -> {
                    if (error != null) {
                        onFailure("item " + id, error, request, response);
                    } else if (!item.hasItem()) {
                        Answers.text(response, 404, "no item " + id + "\n");
                    } else {
                        Answers.json(
                                response,
                                json -> item.item()
                                        .forEach((name, value) -> json.writeStringProperty(
                                                name, value.s() == null ? value.n() : value.s())));
                    }
                });
    }

    private void putItems(QueryStringDecoder target, Request request, Response response) {
        String wish = parameter(target, "n");
        int items = wish == null ? 1 : wish.matches("[0-9]{1,4}") ? Integer.parseInt(wish) : 0;
        if (items < 1 || items > MOST_PUTS) {
            Answers.text(response, 400, "parameter n is '" + wish + "', expected 1 to " + MOST_PUTS + "\n");
            return;
        }
        String batch = UUID.randomUUID().toString();
        AwsClients.whenMade()
                .thenCompose(clients -> new PutSeries(clients.dynamoDb(), table, batch, items, request).run())
                .whenComplete((@Nullable PutSeries series, @Nullable Throwable error) -> {
                    if (series != null) {
                        Answers.json(response, series::describe);
                    } else {
                        onFailure("batch " + batch, error, request, response);
                    }
                });
    }

    /** Any thread; before the head. */
    private static void onFailure(String what, @Nullable Throwable error, Request request, Response response) {
        Throwable cause = error instanceof CompletionException && error.getCause() != null ? error.getCause() : error;
        if (cause instanceof SdkServiceException refusal && refusal.statusCode() == 404) {
            Answers.text(response, 404, "no " + what + "\n");
        } else if (request.cancellation() == null) {
            FailureLog.report("AWS", what, cause);
            response.fail(ErrorCode.HANDLER_FAILED, what + ": " + cause);
        }
    }
}
