package io.lambdadispatcher.worker.adapter.runtime;

import java.io.ByteArrayOutputStream;
import tools.jackson.core.JsonGenerator;
import tools.jackson.core.ObjectWriteContext;
import tools.jackson.core.json.JsonFactory;

/** The few bodies that the Runtime API sends of its own. */
final class Json {
    private static final JsonFactory FACTORY = new JsonFactory();

    private Json() {}

    static byte[] error(String message, String type) {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        try (JsonGenerator json = FACTORY.createGenerator(ObjectWriteContext.empty(), out)) {
            json.writeStartObject();
            json.writeStringProperty("errorMessage", message);
            json.writeStringProperty("errorType", type);
            json.writeEndObject();
        }
        return out.toByteArray();
    }
}
