package io.lambdadispatcher.it;

import com.networknt.schema.Error;
import com.networknt.schema.SchemaRegistry;
import com.networknt.schema.SchemaRegistryConfig;
import com.networknt.schema.dialect.Dialects;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.node.ArrayNode;
import tools.jackson.databind.node.ObjectNode;
import tools.jackson.dataformat.yaml.YAMLMapper;

/**
 * docs/reference/admin-api.yaml, made strict: its objects permit no members that it does not
 * describe.
 */
final class AdminApiDescription {
    private static final Path FILE = Path.of("..", "docs", "reference", "admin-api.yaml");

    private final JsonMapper json = new JsonMapper();
    private final SchemaRegistry registry = SchemaRegistry.withDialect(
            Dialects.getOpenApi31(),
            builder -> builder.schemaRegistryConfig(
                    SchemaRegistryConfig.builder().formatAssertionsEnabled(true).build()));
    private final JsonNode description = new YAMLMapper().readTree(FILE);
    /** Members that answers had, by schema. */
    private final Map<String, Set<String>> seen = new TreeMap<>();

    AdminApiDescription() {
        description.at("/components/schemas").forEach(schema -> {
            if (schema.has("properties")) {
                ((ObjectNode) schema).put("additionalProperties", false);
            }
        });
    }

    /** Returns the paths that allow a method, which is in lower case. */
    Set<String> paths(String method) {
        Set<String> paths = new TreeSet<>();
        description.get("paths").properties().forEach(path -> {
            if (path.getValue().has(method)) {
                paths.add(path.getKey());
            }
        });
        return paths;
    }

    /**
     * Returns what is wrong with an answer.
     *
     * @param method in lower case
     * @param path without a query
     */
    List<String> check(String method, String path, int status, String contentType, String body) {
        String answer = method + " " + path + " " + status;
        JsonNode response = followed(description
                .get("paths")
                .path(path)
                .path(method)
                .path("responses")
                .path(Integer.toString(status)));
        if (response.isMissingNode()) {
            return List.of(answer + " is not described");
        }
        String type = contentType.replaceFirst(";.*", "");
        JsonNode schema = response.path("content").path(type).path("schema");
        if (schema.isMissingNode()) {
            return List.of(answer + " " + type + " is not described");
        }
        JsonNode value = type.equals("application/json") || type.equals("text/event-stream")
                ? json.readTree(body)
                : json.getNodeFactory().stringNode(body);
        note(schema, value);
        ObjectNode root = schema.deepCopy().asObject();
        root.set("components", description.get("components"));
        List<String> wrong = new ArrayList<>();
        for (Error error : registry.getSchema(root).validate(value)) {
            wrong.add(answer + ": " + error);
        }
        return wrong;
    }

    private JsonNode followed(JsonNode node) {
        return node.has("$ref") ? description.at(node.get("$ref").stringValue().substring(1)) : node;
    }

    private void note(JsonNode schema, JsonNode value) {
        String reference = schema.path("$ref").stringValue("");
        if (value instanceof ArrayNode) {
            value.forEach(item -> note(followed(schema).path("items"), item));
        } else if (value instanceof ObjectNode) {
            seen.computeIfAbsent(reference.replaceFirst(".*/", ""), name -> new TreeSet<>())
                    .addAll(value.propertyNames());
            value.properties()
                    .forEach(member ->
                            note(followed(schema).path("properties").path(member.getKey()), member.getValue()));
        }
    }

    /** Returns members that are described and that no checked answer has had, by schema. */
    Map<String, Set<String>> unseen() {
        Map<String, Set<String>> unseen = new TreeMap<>();
        description.at("/components/schemas").properties().forEach(schema -> {
            Set<String> members =
                    new TreeSet<>(schema.getValue().path("properties").propertyNames());
            members.removeAll(seen.getOrDefault(schema.getKey(), Set.of()));
            if (!members.isEmpty()) {
                unseen.put(schema.getKey(), members);
            }
        });
        return unseen;
    }
}
