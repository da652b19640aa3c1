package com.example.aws;

import io.lambdadispatcher.worker.handler.Handler;
import io.lambdadispatcher.worker.handler.Request;
import io.lambdadispatcher.worker.handler.Response;
import io.netty.handler.codec.http.QueryStringDecoder;
import java.util.List;
import java.util.Map;
import java.util.function.Function;

/**
 * Serves {@code /ping}, and the routes of {@link AwsRoutes}, which answer 503 if the environment is
 * incomplete. The answer says what is missing, so the example starts without AWS.
 */
public final class AwsHandler implements Handler {
    /** The environment variable that names the bucket. */
    public static final String BUCKET = "EXAMPLE_BUCKET";

    /** The environment variable that names the table. */
    public static final String TABLE = "EXAMPLE_TABLE";

    private static final List<String> REGIONS = List.of("AWS_REGION", "AWS_DEFAULT_REGION");
    /** The SDK reads credentials from these variables before it requests them over the network. */
    private static final List<String> CREDENTIALS = List.of(
            "AWS_ACCESS_KEY_ID",
            "AWS_PROFILE",
            "AWS_WEB_IDENTITY_TOKEN_FILE",
            "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
            "AWS_CONTAINER_CREDENTIALS_FULL_URI");

    private final Map<String, Handler> routes;

    public AwsHandler() {
        this(System.getenv());
    }

    /** @param variables the environment */
    AwsHandler(Map<String, String> variables) {
        routes = Map.of(
                "/ping", (request, response) -> Answers.text(response, 200, "pong"),
                "/read-s3", ifConfigured(variables, BUCKET, AwsRoutes::objects),
                "/dynamodb-put", ifConfigured(variables, TABLE, AwsRoutes::puts));
    }

    /** @param route creates the route from the name of the bucket or the table */
    private static Handler ifConfigured(Map<String, String> variables, String named, Function<String, Handler> route) {
        String name = variables.getOrDefault(named, "");
        if (!name.isBlank() && has(variables, REGIONS) && has(variables, CREDENTIALS)) {
            return route.apply(name);
        }
        String text = "AWS is not configured: expected " + named + ", one of " + REGIONS + " and one of " + CREDENTIALS
                + " in the environment";
        return (request, response) -> Answers.text(response, 503, text);
    }

    private static boolean has(Map<String, String> variables, List<String> oneOf) {
        return oneOf.stream().anyMatch(name -> !variables.getOrDefault(name, "").isBlank());
    }

    @Override
    public void handle(Request request, Response response) throws Exception {
        try {
            Handler route = routes.get(new QueryStringDecoder(request.path()).path());
            if (route == null) {
                Answers.text(response, 404, "expected one of " + routes.keySet());
            } else {
                route.handle(request, response);
            }
        } catch (IllegalArgumentException e) {
            Answers.text(response, 400, String.valueOf(e.getMessage()));
        }
    }
}
