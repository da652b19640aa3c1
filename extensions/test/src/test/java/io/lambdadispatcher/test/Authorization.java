package io.lambdadispatcher.test;

import io.lambdadispatcher.core.spi.Decision;
import io.lambdadispatcher.core.spi.Filter;
import io.lambdadispatcher.core.spi.RequestContext;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;

/** Lets a service decide who may send requests. */
public final class Authorization implements Filter {
    private final HttpClient client = HttpClient.newHttpClient();
    private final URI service;

    public Authorization(URI service) {
        this.service = service;
    }

    @Override
    public Phase phase() {
        return Phase.AUTHENTICATE;
    }

    @Override
    public Decision onRequest(RequestContext request) {
        String token = request.headers().get("authorization");
        if (token == null) {
            return Decision.answer(401, "authorization is missing");
        }
        HttpRequest question = HttpRequest.newBuilder(service)
                .timeout(Duration.ofSeconds(2))
                .header("authorization", token)
                .build();
        return Decision.later(client.sendAsync(question, HttpResponse.BodyHandlers.discarding())
                .handle((answer, error) -> {
                    if (error != null) {
                        return Decision.answer(503, "nobody can say whether you may do this");
                    }
                    return answer.statusCode() == 200 ? Decision.pass() : Decision.answer(403, "you may not do this");
                }));
    }
}
