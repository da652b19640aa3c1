package com.example.chat;

import java.io.StringWriter;
import java.time.Instant;
import java.util.Collection;
import java.util.Locale;
import tools.jackson.core.JsonGenerator;
import tools.jackson.core.ObjectWriteContext;
import tools.jackson.core.json.JsonFactory;

/**
 * A message to the page, as JSON: {@code
 * {"kind":"said","who":"Ann","text":"hello","at":"2026-11-21T12:00:00Z"}}.
 */
record Message(Kind kind, String who, String text, Instant at) {
    private static final JsonFactory JSON = new JsonFactory();

    enum Kind {
        WELCOME,
        JOINED,
        SAID,
        LEFT,
        GOING
    }

    static Message of(Kind kind, String who, String text, Instant at) {
        return new Message(kind, who, text, at);
    }

    /** Returns {@code {"kind":"welcome", …, "guests":2, "said":[…]}}. */
    static String welcome(String room, Instant at, int guests, Collection<Message> said) {
        StringWriter text = new StringWriter();
        try (JsonGenerator json = JSON.createGenerator(ObjectWriteContext.empty(), text)) {
            json.writeStartObject();
            of(Kind.WELCOME, room, "", at).writeFields(json);
            json.writeNumberProperty("guests", guests);
            json.writeArrayPropertyStart("said");
            for (Message message : said) {
                json.writeStartObject();
                message.writeFields(json);
                json.writeEndObject();
            }
            json.writeEndArray();
            json.writeEndObject();
        }
        return text.toString();
    }

    String json() {
        StringWriter written = new StringWriter();
        try (JsonGenerator json = JSON.createGenerator(ObjectWriteContext.empty(), written)) {
            json.writeStartObject();
            writeFields(json);
            json.writeEndObject();
        }
        return written.toString();
    }

    private void writeFields(JsonGenerator json) {
        json.writeStringProperty("kind", kind.name().toLowerCase(Locale.ROOT));
        json.writeStringProperty("who", who);
        json.writeStringProperty("text", text);
        json.writeStringProperty("at", at.toString());
    }
}
