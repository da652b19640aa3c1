package io.lambdadispatcher.server.demo;

import io.lambdadispatcher.worker.handler.Handler;
import io.lambdadispatcher.worker.handler.Request;
import io.lambdadispatcher.worker.handler.Response;
import io.netty.util.AsciiString;
import java.util.List;
import java.util.Map;
import java.util.function.Function;

/**
 * What a route needs from AWS. The route answers 501 if the SDK is not on the class path, and 503 if the environment
 * is incomplete. Both answers say what is missing, so the demo runs without AWS. This class refers to no class of
 * the SDK.
 *
 * @param variables the environment
 * @param named the variable that holds the name of the bucket or the table
 * @param client the SDK's class that the route needs
 */
record AwsAccess(Map<String, String> variables, String named, String client) {
    static final String BUCKET = "DEMO_BUCKET";
    static final String TABLE = "DEMO_TABLE";

    private static final AsciiString NOT_IMPLEMENTED = AsciiString.cached("501");
    private static final AsciiString UNAVAILABLE = AsciiString.cached("503");
    private static final String SDK = "software.amazon.awssdk.";
    private static final String HTTP_CLIENT = SDK + "http.nio.netty.NettyNioAsyncHttpClient";
    private static final List<String> REGIONS = List.of("AWS_REGION", "AWS_DEFAULT_REGION");
    /** The SDK looks for credentials in these variables before it asks the network for them. */
    private static final List<String> CREDENTIALS = List.of(
            "AWS_ACCESS_KEY_ID",
            "AWS_PROFILE",
            "AWS_WEB_IDENTITY_TOKEN_FILE",
            "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
            "AWS_CONTAINER_CREDENTIALS_FULL_URI");

    static AwsAccess s3(Map<String, String> variables) {
        return new AwsAccess(variables, BUCKET, SDK + "services.s3.S3AsyncClient");
    }

    static AwsAccess dynamoDb(Map<String, String> variables) {
        return new AwsAccess(variables, TABLE, SDK + "services.dynamodb.DynamoDbAsyncClient");
    }

    /** @param route makes the route from the name of the bucket or the table, at the first request that can be served */
    Handler guard(Function<String, Handler> route) {
        return new Guard(this, route);
    }

    private static final class Guard implements Handler {
        private final AwsAccess needs;
        private final Function<String, Handler> route;
        private volatile Handler made = this::check;

        Guard(AwsAccess needs, Function<String, Handler> route) {
            this.needs = needs;
            this.route = route;
        }

        @Override
        public void handle(Request request, Response response) throws Exception {
            made.handle(request, response);
        }

        private void check(Request request, Response response) throws Exception {
            if (!isLoadable(needs.client) || !isLoadable(HTTP_CLIENT)) {
                String text = "no AWS SDK: expected " + needs.client + " and " + HTTP_CLIENT + " on the class path\n";
                Answers.text(request, response, NOT_IMPLEMENTED, text);
                return;
            }
            String name = needs.variables.getOrDefault(needs.named, "");
            if (name.isBlank() || !needs.has(REGIONS) || !needs.has(CREDENTIALS)) {
                String text = "AWS is not configured: expected " + needs.named + ", one of " + REGIONS + " and one of "
                        + CREDENTIALS + " in the environment\n";
                Answers.text(request, response, UNAVAILABLE, text);
            } else {
                made = route.apply(name);
                made.handle(request, response);
            }
        }

        private static boolean isLoadable(String type) {
            try {
                Class.forName(type, false, AwsAccess.class.getClassLoader());
                return true;
            } catch (ClassNotFoundException | LinkageError e) {
                return false;
            }
        }
    }

    private boolean has(List<String> oneOf) {
        return oneOf.stream().anyMatch(name -> !variables.getOrDefault(name, "").isBlank());
    }
}
