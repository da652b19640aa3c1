package io.lambdadispatcher.core.internal.direct;

import io.lambdadispatcher.core.spi.FunctionInvoker;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.ObjectMapper;
import tools.jackson.databind.node.ObjectNode;

/**
 * A function in this process. It handles an event as a Lambda handler does, on another thread than
 * the caller's.
 */
public final class FakeFunction implements FunctionInvoker {
    public static final ObjectMapper JSON = new ObjectMapper();

    /** Names of the functions that were invoked. */
    final List<String> invoked = new CopyOnWriteArrayList<>();

    /** Pending results, if {@link #handler} is null. */
    final List<CompletableFuture<InvokeResult>> open = new CopyOnWriteArrayList<>();

    volatile @Nullable Function<JsonNode, String> handler;

    FakeFunction(@Nullable Function<JsonNode, String> handler) {
        this.handler = handler;
    }

    @Override
    public CompletionStage<InvokeResult> invoke(String function, byte[] event) {
        invoked.add(function);
        Function<JsonNode, String> runs = handler;
        if (runs != null) {
            return CompletableFuture.supplyAsync(() -> returned(runs.apply(JSON.readTree(event))));
        }
        CompletableFuture<InvokeResult> result = new CompletableFuture<>();
        open.add(result);
        return result;
    }

    static InvokeResult returned(String json) {
        return new InvokeResult(200, null, json.getBytes(StandardCharsets.UTF_8));
    }

    /** Returns the request's body and its type, in base64. */
    static String echo(JsonNode event) {
        byte[] body = body(event);
        String type = first(event, "content-type");
        type = type == null ? first(event, "Content-Type") : type;
        ObjectNode response = JSON.createObjectNode().put("statusCode", 200);
        ObjectNode headers = response.putObject("headers");
        ObjectNode multi = response.putObject("multiValueHeaders");
        if (type != null) {
            headers.put("Content-Type", type);
            multi.putArray("Content-Type").add(type);
        }
        response.put("body", Base64.getEncoder().encodeToString(body)).put("isBase64Encoded", true);
        return response.toString();
    }

    public static byte[] body(JsonNode event) {
        String text = event.path("body").asString("");
        return event.path("isBase64Encoded").booleanValue()
                ? Base64.getDecoder().decode(text)
                : text.getBytes(StandardCharsets.UTF_8);
    }

    public static @Nullable String first(JsonNode event, String name) {
        JsonNode single = event.path("headers").path(name);
        JsonNode found = single.isMissingNode()
                ? event.path("multiValueHeaders").path(name).path(0)
                : single;
        return found.isMissingNode() ? null : found.asString();
    }
}
