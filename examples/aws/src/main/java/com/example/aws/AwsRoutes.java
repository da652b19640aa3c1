package com.example.aws;

import io.lambdadispatcher.worker.handler.FailureReason;
import io.lambdadispatcher.worker.handler.Handler;
import io.lambdadispatcher.worker.handler.Request;
import io.lambdadispatcher.worker.handler.Response;
import io.netty.handler.codec.http.HttpMethod;
import io.netty.handler.codec.http.QueryStringDecoder;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CompletionException;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import software.amazon.awssdk.core.async.AsyncResponseTransformer;
import software.amazon.awssdk.core.async.ResponsePublisher;
import software.amazon.awssdk.core.exception.SdkServiceException;
import software.amazon.awssdk.services.s3.model.GetObjectResponse;
import software.amazon.awssdk.services.s3.model.HeadObjectResponse;

/**
 * The routes that call AWS. {@code /read-s3?key=} streams an object from a bucket. {@code
 * /dynamodb-put?n=} puts {@code n} items into a table (key: the string {@code id}), one after the
 * other, and returns how long each put took.
 *
 * <p>The response is 404 if the object does not exist, and 500 after any other failure of AWS, with
 * the reason in the log. No route blocks, so one thread serves as many concurrent requests as the
 * worker has streams.
 */
final class AwsRoutes {
    private static final int MOST_PUTS = 1000;

    private static final Logger log = LoggerFactory.getLogger(AwsRoutes.class);

    private AwsRoutes() {}

    static Handler objects(String bucket) {
        return (request, response) -> {
            String key = parameter(request, "key");
            if (key == null) {
                throw new IllegalArgumentException("parameter key is missing, expected the object's key");
            }
            if (HttpMethod.HEAD.asciiName().contentEquals(request.method())) {
                describe(bucket, key, request, response);
            } else {
                stream(bucket, key, request, response);
            }
        };
    }

    private static void stream(String bucket, String key, Request request, Response response) {
        ObjectStream stream = new ObjectStream(request, response);
        AwsClients.s3()
                .thenCompose(s3 -> s3.getObject(
                        get -> get.bucket(bucket).key(key), AsyncResponseTransformer.<GetObjectResponse>toPublisher()))
                .whenComplete((@Nullable ResponsePublisher<GetObjectResponse> object, @Nullable Throwable error) -> {
                    if (object != null) {
                        stream.start(object);
                    } else {
                        onFailure("object " + key, error, request, response);
                    }
                });
    }

    private static void describe(String bucket, String key, Request request, Response response) {
        AwsClients.s3()
                .thenCompose(s3 -> s3.headObject(head -> head.bucket(bucket).key(key)))
                .whenComplete((@Nullable HeadObjectResponse about, @Nullable Throwable error) -> {
                    if (about != null) {
                        response.respond(ObjectStream.head(about.contentType(), about.contentLength()));
                    } else {
                        onFailure("object " + key, error, request, response);
                    }
                });
    }

    static Handler puts(String table) {
        return (request, response) -> {
            int items = count(parameter(request, "n"));
            String batch = UUID.randomUUID().toString();
            AwsClients.dynamoDb()
                    .thenCompose(dynamoDb -> new PutSeries(dynamoDb, table, batch, items, request).run())
                    .whenComplete((@Nullable PutSeries series, @Nullable Throwable error) -> {
                        if (series != null) {
                            Answers.json(response, series.json());
                        } else {
                            onFailure("batch " + batch, error, request, response);
                        }
                    });
        };
    }

    private static @Nullable String parameter(Request request, String name) {
        List<String> values =
                new QueryStringDecoder(request.path()).parameters().get(name);
        return values == null ? null : values.get(0);
    }

    /**
     * @throws IllegalArgumentException if the parameter is not a number from 0 to {@link
     *     #MOST_PUTS}
     */
    private static int count(@Nullable String n) {
        try {
            int count = n == null ? 1 : Integer.parseInt(n);
            if (count >= 0 && count <= MOST_PUTS) {
                return count;
            }
        } catch (NumberFormatException e) {
            // The same error as for a number out of range.
        }
        throw new IllegalArgumentException("parameter n is '" + n + "', expected 0 to " + MOST_PUTS);
    }

    /** Called on any thread, before the response headers have been sent. */
    private static void onFailure(String what, @Nullable Throwable error, Request request, Response response) {
        Throwable cause = causeOf(error);
        if (cause instanceof SdkServiceException refusal && refusal.statusCode() == 404) {
            Answers.text(response, 404, "no " + what);
        } else if (request.cancellation() == null) {
            log.warn("AWS failed on {}", what, cause);
            // Without a text, because the client would receive it, and AWS's messages contain ARNs.
            response.fail(FailureReason.HANDLER_FAILED, "");
        }
    }

    private static Throwable causeOf(@Nullable Throwable error) {
        if (error == null) {
            return new IllegalStateException("neither a result nor an error");
        }
        Throwable cause = error.getCause();
        return error instanceof CompletionException && cause != null ? cause : error;
    }
}
